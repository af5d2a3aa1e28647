-- In: shares, digest_attempts. Out: what each job pays by day and category.
SELECT a.job, s.day, s.category, s.currency, sum(s.effective) AS effective, sum(s.billed) AS billed, sum(s.list) AS list,
  sum(s.contracted) AS contracted
FROM shares s
JOIN digest_attempts a ON a.job_id = s.job_id AND a.attempt = s.attempt
WHERE s.payer_kind = 'attempt'
GROUP BY ALL
ORDER BY s.day, a.job
