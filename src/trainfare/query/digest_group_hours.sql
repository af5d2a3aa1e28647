-- In: digest_hours, digest_jobs, digest_sets. Out: the hours of each job per group, by day.
SELECT {{job}} AS job{{hold_keys}}, CAST(sum(h.wall) AS BIGINT) AS wall, CAST(sum(h.billed_wall) AS BIGINT) AS billed_wall, CAST(sum(h.gpu) AS HUGEINT) AS gpu,
  CAST(sum(h.billed_gpu) AS HUGEINT) AS billed_gpu, bool_or(h.gpu_unknown) AS gpu_unknown
FROM digest_hours h
JOIN digest_jobs j ON j.book = h.book AND j.job = h.job AND j.currency = {{currency}}
JOIN digest_sets a ON a.book = j.book AND a."set" = j."set"
WHERE {{only_holds}}
GROUP BY ALL
