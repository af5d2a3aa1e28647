-- In: egress, digest_attempts. Out: the network cost of attempts with the same set of labels, by day and by where their bytes went.
SELECT a."set", e.day, e.currency, e.from_region, e.to_region, {{sums}}
FROM egress e JOIN digest_attempts a ON a.job_id = e.job_id AND a.attempt = e.attempt
GROUP BY ALL
