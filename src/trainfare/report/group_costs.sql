-- In: the shares asked about, attempts, machines. Out: what payers of these kinds pay per group, or per job and group.
SELECT sum(s.{{basis}}) AS cost{{job}}{{share_keys}}
FROM (SELECT * FROM {{shares}} WHERE payer_kind IN ({{kinds}})) s
LEFT JOIN attempts a ON a.job_id = s.job_id AND a.attempt = s.attempt
LEFT JOIN machines m ON m.resource_id = s.resource_id
GROUP BY ALL
