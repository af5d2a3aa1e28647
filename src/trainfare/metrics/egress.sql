-- In: kept_shares, ways, used, attempts. Out: the network cost of attempts that were measured to send anything, cut by where their bytes went: the bytes of the day, or of all days where none were measured on that one. The pair with most bytes gets it all and hands on the
-- whole parts of the others. Attempts of which no bytes were measured have no rows.
WITH sent AS (
  SELECT attempt_key, day, from_region, to_region, CAST(sum(micros) // 1000000 AS BIGINT) AS bytes
  FROM used WHERE measure = 'bytes_sent' AND coalesce(from_region <> to_region, true)
  GROUP BY attempt_key, day, from_region, to_region
),
routes AS (
  SELECT attempt_key, day, from_region, to_region, bytes FROM sent
  UNION ALL
  SELECT attempt_key, NULL, from_region, to_region, CAST(sum(bytes) AS BIGINT) FROM sent GROUP BY attempt_key, from_region, to_region
),
ranked AS (
  SELECT *, sum(bytes) OVER (PARTITION BY attempt_key, day) AS whole, count(*) OVER (PARTITION BY attempt_key, day) AS routes,
    row_number() OVER (PARTITION BY attempt_key, day ORDER BY bytes DESC, from_region, to_region) AS place
  FROM routes WHERE bytes > 0
),
paid AS (
  SELECT s.payer_key AS attempt_key, s.day, w.currency, CAST(sum(s.effective) AS DECIMAL(38,12)) AS effective, CAST(sum(s.billed) AS DECIMAL(38,12)) AS billed,
    CAST(sum(s.list) AS DECIMAL(38,12)) AS list, CAST(sum(s.contracted) AS DECIMAL(38,12)) AS contracted
  FROM kept_shares s JOIN ways w ON w.way = s.way
  WHERE w.category = 'network' AND s.payer_key IN (SELECT attempt_key FROM sent WHERE bytes > 0)
  GROUP BY s.payer_key, s.day, w.currency
),
dated AS (
  SELECT p.*, d.day AS sent_day
  FROM paid p
  LEFT JOIN (SELECT DISTINCT attempt_key, day FROM ranked WHERE day IS NOT NULL) d ON d.attempt_key = p.attempt_key AND d.day = p.day
),
handed AS (
  SELECT p.attempt_key, p.day, p.currency, r.from_region, r.to_region, r.place = 1 AS is_heaviest,
    in_units(p.effective) AS effective, in_units(p.billed) AS billed, in_units(p.list) AS list, in_units(p.contracted) AS contracted,
    CASE WHEN r.place > 1 THEN whole_part(in_units(p.effective), r.bytes, CAST(r.whole AS BIGINT)) ELSE 0 END AS effective_part,
    CASE WHEN r.place > 1 THEN whole_part(in_units(p.billed), r.bytes, CAST(r.whole AS BIGINT)) ELSE 0 END AS billed_part,
    CASE WHEN r.place > 1 THEN whole_part(in_units(p.list), r.bytes, CAST(r.whole AS BIGINT)) ELSE 0 END AS list_part,
    CASE WHEN r.place > 1 THEN whole_part(in_units(p.contracted), r.bytes, CAST(r.whole AS BIGINT)) ELSE 0 END AS contracted_part
  FROM dated p
  JOIN ranked r ON r.attempt_key = p.attempt_key AND coalesce(r.day, -1) = coalesce(p.sent_day, -1) AND r.routes > 1
),
cut AS (
  SELECT p.attempt_key, p.day, p.currency, r.from_region, r.to_region, p.effective, p.billed, p.list, p.contracted
  FROM dated p
  JOIN ranked r ON r.attempt_key = p.attempt_key AND coalesce(r.day, -1) = coalesce(p.sent_day, -1) AND r.routes = 1
  UNION ALL
  SELECT attempt_key, day, currency, from_region, to_region,
    as_money(CASE WHEN is_heaviest THEN effective - sum(effective_part) OVER pot ELSE effective_part END),
    as_money(CASE WHEN is_heaviest THEN billed - sum(billed_part) OVER pot ELSE billed_part END),
    as_money(CASE WHEN is_heaviest THEN list - sum(list_part) OVER pot ELSE list_part END),
    as_money(CASE WHEN is_heaviest THEN contracted - sum(contracted_part) OVER pot ELSE contracted_part END)
  FROM handed WINDOW pot AS (PARTITION BY attempt_key, day, currency)
)
SELECT a.job_id, a.attempt, DATE '1970-01-01' + c.day AS day, c.currency, c.from_region, c.to_region, c.effective, c.billed, c.list, c.contracted
FROM cut c JOIN attempts a ON a.attempt_key = c.attempt_key
