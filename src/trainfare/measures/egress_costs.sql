-- Split the network cost of attempts by the pair of regions between which their bytes were sent.
-- In: stored_shares, share_kinds, attempt_usage, usage_kinds. Out: cost per attempt, day, currency and pair of regions,
-- by the bytes of the day, or of all days if none were measured on that one. The pair with most bytes gets what does
-- not divide. Attempts without measured bytes have no rows. On most days an attempt has one pair, which gets it all.
WITH sent AS (
  SELECT attempt_key, day, kind, from_region, to_region, value
  FROM attempt_usage WHERE measure = 'bytes_sent' AND coalesce(from_region <> to_region, true)
),
days AS (
  SELECT attempt_key, day,
    CASE WHEN count(kind) = count(*) AND min(kind) = max(kind) AND sum(value) >= 1 THEN min(kind) END AS kind
  FROM sent GROUP BY attempt_key, day
),
paid AS (
  SELECT s.payer_key AS attempt_key, s.day, w.currency, CAST(sum(s.effective) AS DECIMAL(38,12)) AS effective,
    CAST(sum(s.billed) AS DECIMAL(38,12)) AS billed, CAST(sum(s.list) AS DECIMAL(38,12)) AS list,
    CAST(sum(s.contracted) AS DECIMAL(38,12)) AS contracted
  FROM stored_shares s JOIN share_kinds w ON w.share_kind = s.share_kind
  WHERE w.category = 'network' AND s.payer_key IN (SELECT attempt_key FROM days)
  GROUP BY s.payer_key, s.day, w.currency
),
dated AS (
  SELECT p.*, d.kind FROM paid p LEFT JOIN days d ON d.attempt_key = p.attempt_key AND d.day = p.day
),
to_split AS (
  SELECT attempt_key, day, currency, in_units(effective) AS effective, in_units(billed) AS billed,
    in_units(list) AS list, in_units(contracted) AS contracted
  FROM dated WHERE kind IS NULL
),
region_pairs AS (
  SELECT attempt_key, day, from_region, to_region, CAST(trunc(sum(value)) AS BIGINT) AS weight
  FROM sent WHERE attempt_key IN (SELECT attempt_key FROM to_split)
  GROUP BY attempt_key, day, from_region, to_region HAVING sum(value) >= 1
),
weighted AS (
  SELECT p.*, r.from_region, r.to_region, r.weight
  FROM to_split p JOIN region_pairs r ON r.attempt_key = p.attempt_key AND r.day = p.day
  UNION ALL
  SELECT p.*, r.from_region, r.to_region, r.weight
  FROM to_split p
  JOIN (
    SELECT attempt_key, from_region, to_region, CAST(sum(weight) AS BIGINT) AS weight
    FROM region_pairs GROUP BY attempt_key, from_region, to_region
  ) r ON r.attempt_key = p.attempt_key
  WHERE NOT EXISTS (SELECT 1 FROM region_pairs d WHERE d.attempt_key = p.attempt_key AND d.day = p.day)
),
split_costs AS (
  {{split}}
)
SELECT p.attempt_key, p.day, p.currency, k.from_region, k.to_region, p.effective, p.billed, p.list, p.contracted
FROM dated p JOIN usage_kinds k ON k.kind = p.kind
UNION ALL
SELECT attempt_key, day, currency, from_region, to_region, as_money(effective) AS effective,
  as_money(billed) AS billed, as_money(list) AS list, as_money(contracted) AS contracted
FROM split_costs
