-- In: digest_jobs. Out: the hours of all jobs with the same set of labels, and how many these are.
SELECT "set", currency, count(wall) AS jobs, CAST(sum(wall) AS HUGEINT) AS wall, CAST(sum(billed_wall) AS HUGEINT) AS billed_wall,
  CAST(sum(gpu) AS HUGEINT) AS gpu, CAST(sum(billed_gpu) AS HUGEINT) AS billed_gpu, bool_or(gpu_unknown) AS gpu_unknown
FROM digest_jobs
WHERE wall IS NOT NULL
GROUP BY "set", currency
ORDER BY "set", currency
