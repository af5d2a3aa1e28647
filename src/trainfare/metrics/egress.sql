-- In: kept_shares, ways, used, usage_kinds. Out: the network cost of attempts that were measured to send anything, cut by where their bytes went: the bytes of the day, or of all days where none were measured on that one. The pair with most bytes gets it all and hands on the
-- whole parts of the others. Attempts of which no bytes were measured have no rows. On most days an attempt sends from one region to one other, which gets all.
WITH sent AS (
  SELECT attempt_key, day, kind, from_region, to_region, value
  FROM used WHERE measure = 'bytes_sent' AND coalesce(from_region <> to_region, true)
),
days AS (
  SELECT attempt_key, day, CASE WHEN count(kind) = count(*) AND min(kind) = max(kind) AND sum(value) >= 1 THEN min(kind) END AS kind
  FROM sent GROUP BY attempt_key, day
),
paid AS (
  SELECT s.payer_key AS attempt_key, s.day, w.currency, CAST(sum(s.effective) AS DECIMAL(38,12)) AS effective,
    CAST(sum(s.billed) AS DECIMAL(38,12)) AS billed, CAST(sum(s.list) AS DECIMAL(38,12)) AS list, CAST(sum(s.contracted) AS DECIMAL(38,12)) AS contracted
  FROM kept_shares s JOIN ways w ON w.way = s.way
  WHERE w.category = 'network' AND s.payer_key IN (SELECT attempt_key FROM days)
  GROUP BY s.payer_key, s.day, w.currency
),
dated AS (
  SELECT p.*, d.kind FROM paid p LEFT JOIN days d ON d.attempt_key = p.attempt_key AND d.day = p.day
),
divided AS (
  SELECT attempt_key, day, currency, in_units(effective) AS effective, in_units(billed) AS billed, in_units(list) AS list, in_units(contracted) AS contracted
  FROM dated WHERE kind IS NULL
),
routes AS (
  SELECT attempt_key, day, from_region, to_region, CAST(trunc(sum(value)) AS BIGINT) AS bytes
  FROM sent WHERE attempt_key IN (SELECT attempt_key FROM divided)
  GROUP BY attempt_key, day, from_region, to_region HAVING sum(value) >= 1
),
ways_out AS (
  SELECT p.*, r.from_region, r.to_region, r.bytes
  FROM divided p JOIN routes r ON r.attempt_key = p.attempt_key AND r.day = p.day
  UNION ALL
  SELECT p.*, r.from_region, r.to_region, r.bytes
  FROM divided p
  JOIN (
    SELECT attempt_key, from_region, to_region, CAST(sum(bytes) AS BIGINT) AS bytes FROM routes GROUP BY attempt_key, from_region, to_region
  ) r ON r.attempt_key = p.attempt_key
  WHERE NOT EXISTS (SELECT 1 FROM routes d WHERE d.attempt_key = p.attempt_key AND d.day = p.day)
),
ranked AS (
  SELECT *, CAST(sum(bytes) OVER (PARTITION BY attempt_key, day, currency) AS BIGINT) AS whole,
    row_number() OVER (PARTITION BY attempt_key, day, currency ORDER BY bytes DESC, from_region, to_region) AS place
  FROM ways_out
),
handed AS (
  SELECT *,
    CASE WHEN place > 1 THEN whole_part(effective, bytes, whole) ELSE 0 END AS effective_part,
    CASE WHEN place > 1 THEN whole_part(billed, bytes, whole) ELSE 0 END AS billed_part,
    CASE WHEN place > 1 THEN whole_part(list, bytes, whole) ELSE 0 END AS list_part,
    CASE WHEN place > 1 THEN whole_part(contracted, bytes, whole) ELSE 0 END AS contracted_part
  FROM ranked
),
cut AS (
  SELECT attempt_key, day, currency, from_region, to_region,
    CASE WHEN place = 1 THEN effective - sum(effective_part) OVER pot ELSE effective_part END AS effective,
    CASE WHEN place = 1 THEN billed - sum(billed_part) OVER pot ELSE billed_part END AS billed,
    CASE WHEN place = 1 THEN list - sum(list_part) OVER pot ELSE list_part END AS list,
    CASE WHEN place = 1 THEN contracted - sum(contracted_part) OVER pot ELSE contracted_part END AS contracted
  FROM handed WINDOW pot AS (PARTITION BY attempt_key, day, currency)
)
SELECT p.attempt_key, p.day, p.currency, k.from_region, k.to_region, p.effective, p.billed, p.list, p.contracted
FROM dated p JOIN usage_kinds k ON k.kind = p.kind
UNION ALL
SELECT attempt_key, day, currency, from_region, to_region,
  as_money(effective) AS effective, as_money(billed) AS billed, as_money(list) AS list, as_money(contracted) AS contracted
FROM cut
