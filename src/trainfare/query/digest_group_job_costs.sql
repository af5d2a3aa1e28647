-- In: digest_job_costs, digest_jobs, digest_sets. Out: what each job pays per group, by day or category.
SELECT {{job}} AS job, sum(s.{{basis}}) AS cost{{share_keys}}
FROM (SELECT *, 'attempt' AS payer_kind, CAST(NULL AS VARCHAR) AS payer FROM digest_job_costs WHERE {{where}}) s
JOIN digest_jobs j ON j.book = s.book AND j.job = s.job AND j.currency = s.currency
JOIN digest_sets a ON a.book = j.book AND a."set" = j."set"
WHERE {{only_shares}}
GROUP BY ALL
