-- In: digest_parts, digest_part_hours, digest_sets. Out: what change gives, from sums that are kept.
WITH paid AS (
  SELECT CASE WHEN s.payer_kind IN ('idle', 'unallocated', 'outside') THEN s.payer_kind
      WHEN s.lost THEN 'lost'
      WHEN s.kind IS NOT NULL THEN 'gpu'
      ELSE s.category END AS part,
    CASE WHEN part = 'gpu' THEN s.kind END AS kind, s.converted_from, sum(s.{{basis}}) AS cost
  FROM digest_parts s LEFT JOIN digest_sets a ON a.book = s.book AND a."set" = s."set"
  WHERE {{where}} AND {{only_shares}}
  GROUP BY ALL
),
held AS (
  SELECT h.kind, sum(h.gpu_micros) AS gpu_micros
  FROM digest_part_hours h JOIN digest_sets a ON a.book = h.book AND a."set" = h."set"
  WHERE {{only_holds}}
  GROUP BY ALL
)
SELECT part, kind, converted_from, CAST(cost AS DECIMAL(38,12)) AS cost, CAST(0 AS HUGEINT) AS gpu_micros FROM paid
UNION ALL
SELECT 'gpu', kind, NULL, 0, gpu_micros FROM held WHERE kind IN (SELECT kind FROM paid WHERE part = 'gpu')
ORDER BY part, kind, converted_from, gpu_micros
