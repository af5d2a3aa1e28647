-- Divide the cost of one period into the parts whose changes are reported separately.
-- In: the selected shares and placements, attempts, machines.
-- Out: each amount in exactly one part: GPU machines held by attempts that were not lost, per GPU model; lost attempts;
-- other costs of jobs by category; idle, unallocated, outside. Cost converted from another currency has its own rows,
-- and so has the GPU time held of each model.
WITH paid AS (
  SELECT CASE WHEN s.payer_kind IN ('idle', 'unallocated', 'outside') THEN s.payer_kind
      WHEN a.state IN ({{lost}}) THEN 'lost'
      WHEN m.gpus > 0 AND s.category = 'compute' THEN 'gpu'
      ELSE s.category END AS part,
    CASE WHEN part = 'gpu' THEN coalesce(m.gpu_model, '(unknown)') END AS kind, s.converted_from,
    sum(s.{{basis}}) AS cost
  FROM {{shares}} s
  LEFT JOIN attempts a ON a.job_id = s.job_id AND a.attempt = s.attempt
  LEFT JOIN machines m ON m.resource_id = s.resource_id
  GROUP BY ALL
),
held AS (
  SELECT coalesce(m.gpu_model, '(unknown)') AS kind,
    sum(CAST(h.ends - h.starts AS HUGEINT) * h.gpu_micros) AS gpu_micros
  FROM {{placements}} h
  JOIN attempts a ON a.job_id = h.job_id AND a.attempt = h.attempt
  JOIN machines m ON m.resource_id = h.resource_id
  WHERE m.gpus > 0 AND coalesce(a.state, '') NOT IN ({{lost}})
  GROUP BY ALL
)
SELECT part, kind, converted_from, CAST(cost AS DECIMAL(38,12)) AS cost, CAST(0 AS HUGEINT) AS gpu_micros FROM paid
UNION ALL
SELECT 'gpu', kind, NULL, 0, gpu_micros FROM held WHERE kind IN (SELECT kind FROM paid WHERE part = 'gpu')
ORDER BY part, kind, converted_from, gpu_micros
