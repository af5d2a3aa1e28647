-- In: paid_days, used. Out: the network cost of attempts that were measured to send anything, cut by where their bytes went: the bytes of the day, or of all days where none were measured on that one. The pair with most bytes gets it all and hands on the
-- whole parts of the others. Attempts of which no bytes were measured have no rows.
WITH sent AS (
  SELECT attempt_key, day, from_region, to_region, CAST(trunc(sum(value)) AS BIGINT) AS bytes
  FROM used WHERE measure = 'bytes_sent' AND coalesce(from_region <> to_region, true)
  GROUP BY attempt_key, day, from_region, to_region HAVING sum(value) >= 1
),
dated AS (
  SELECT p.*, d.routes, d.from_region, d.to_region
  FROM paid_days p
  LEFT JOIN (
    SELECT attempt_key, day, count(*) AS routes, min(from_region) AS from_region, min(to_region) AS to_region FROM sent GROUP BY attempt_key, day
  ) d ON d.attempt_key = p.attempt_key AND d.day = p.day
  WHERE p.category = 'network'
),
ways_out AS (
  SELECT p.attempt_key, p.day, p.currency, p.effective, p.billed, p.list, p.contracted, s.from_region, s.to_region, s.bytes
  FROM dated p JOIN sent s ON s.attempt_key = p.attempt_key AND s.day = p.day
  WHERE p.routes > 1
  UNION ALL
  SELECT p.attempt_key, p.day, p.currency, p.effective, p.billed, p.list, p.contracted, s.from_region, s.to_region, s.bytes
  FROM dated p
  JOIN (
    SELECT attempt_key, from_region, to_region, CAST(sum(bytes) AS BIGINT) AS bytes FROM sent GROUP BY attempt_key, from_region, to_region
  ) s ON s.attempt_key = p.attempt_key
  WHERE p.routes IS NULL
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
  SELECT attempt_key, day, currency, from_region, to_region, effective, billed, list, contracted FROM dated WHERE routes = 1
  UNION ALL
  SELECT attempt_key, day, currency, from_region, to_region,
    CASE WHEN place = 1 THEN effective - sum(effective_part) OVER pot ELSE effective_part END,
    CASE WHEN place = 1 THEN billed - sum(billed_part) OVER pot ELSE billed_part END,
    CASE WHEN place = 1 THEN list - sum(list_part) OVER pot ELSE list_part END,
    CASE WHEN place = 1 THEN contracted - sum(contracted_part) OVER pot ELSE contracted_part END
  FROM handed WINDOW pot AS (PARTITION BY attempt_key, day, currency)
)
SELECT attempt_key, day, currency, from_region, to_region,
  as_money(effective) AS effective, as_money(billed) AS billed, as_money(list) AS list, as_money(contracted) AS contracted
FROM cut
