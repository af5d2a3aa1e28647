-- Divide the cost of one period into the parts whose changes are reported separately.
-- In: the selected cost with labels and sites; a grain of hours with its patterns.
-- Out: each amount in exactly one part: GPU machines held by attempts that were not lost, per GPU model; lost attempts;
-- other costs of jobs by category; idle, unallocated, outside. Cost converted from another currency has its own rows,
-- and so has the GPU time held of each model.
WITH paid AS (
  SELECT CASE WHEN s.payer_kind IN ('idle', 'unallocated', 'outside') THEN s.payer_kind
      WHEN a.attempt_state IN ({{lost}}) THEN 'lost'
      WHEN m.has_gpus AND s.category = 'compute' THEN 'gpu'
      ELSE s.category END AS part,
    CASE WHEN part = 'gpu' THEN coalesce(m.gpu_model, '(unknown)') END AS kind, s.converted_from,
    sum(s.{{basis}}) AS cost
  FROM {{shares}}
  GROUP BY ALL
),
held AS (
  SELECT k0 AS kind, sum(gpu) AS gpu_micros FROM ({{facts}}) WHERE k1 AND NOT coalesce(k2 IN ({{lost}}), false)
  GROUP BY ALL
)
SELECT part, kind, converted_from, CAST(cost AS DECIMAL(38,12)) AS cost, CAST(0 AS HUGEINT) AS gpu_micros FROM paid
UNION ALL
SELECT 'gpu', coalesce(kind, '(unknown)'), NULL, 0, gpu_micros FROM held
WHERE coalesce(kind, '(unknown)') IN (SELECT kind FROM paid WHERE part = 'gpu')
ORDER BY part, kind, converted_from, gpu_micros
