-- In: digest_jobs, digest_sets. Out: what each job costs and holds over the whole time of the books, per group.
SELECT {{job}} AS job, sum(j.{{cost}}) AS cost, CAST(sum(j.wall) AS BIGINT) AS wall, CAST(sum(j.billed_wall) AS BIGINT) AS billed_wall,
  CAST(sum(j.gpu) AS HUGEINT) AS gpu, CAST(sum(j.billed_gpu) AS HUGEINT) AS billed_gpu, bool_or(j.gpu_unknown) AS gpu_unknown{{hold_keys}}
FROM digest_jobs j
JOIN digest_sets a ON a.book = j.book AND a."set" = j."set"
WHERE j.currency = {{currency}} AND {{only_holds}}
GROUP BY ALL
