-- In: book_usage, digest_attempts. Out: what was measured of attempts with the same set of labels, by day and pair of regions.
SELECT a."set", u.day, u.measure, u.from_region, u.to_region, CAST(sum(u.value) AS DECIMAL(38,6)) AS value
FROM book_usage u JOIN digest_attempts a ON a.job_id = u.job_id AND a.attempt = u.attempt
GROUP BY ALL
ORDER BY u.measure, u.day
