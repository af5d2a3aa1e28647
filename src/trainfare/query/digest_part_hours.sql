-- In: digest_placements, digest_attempts, digest_machines. Out: what attempts that were not lost held by day, per kind of GPU, in millionths of GPU seconds.
WITH cut AS (
  SELECT h."set", h.attempt_key, h.machine, number,
    CAST(least(h.ends, number * 86400 + 86400) - greatest(h.starts, number * 86400) AS HUGEINT) * h.gpu_micros AS gpu_micros
  FROM (SELECT *, unnest(range(starts // 86400, (ends + 86399) // 86400)) AS number FROM digest_placements) h
)
SELECT h."set", coalesce(m.gpu_model, '(unknown)') AS kind, DATE '1970-01-01' + CAST(h.number AS INTEGER) AS day,
  CAST(sum(h.gpu_micros) AS HUGEINT) AS gpu_micros
FROM cut h
JOIN digest_attempts a ON a.attempt_key = h.attempt_key
JOIN digest_machines m ON m.machine = h.machine
WHERE m.gpus > 0 AND coalesce(a.state, '') NOT IN ({{lost}})
GROUP BY ALL
ORDER BY 3, 1
