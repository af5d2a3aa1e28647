-- In: shares, book_usage. Out: the network cost of attempts cut by where their bytes went: the bytes of the day, or of all days where none were measured on that one. The pair with most bytes gets it all and hands on the
-- whole parts of the others. Without any measured bytes both regions are null.
WITH sent AS (
  SELECT job_id, attempt, day, from_region, to_region, CAST(sum(value) AS BIGINT) AS bytes
  FROM book_usage WHERE measure = 'bytes_sent' AND coalesce(from_region <> to_region, true)
  GROUP BY job_id, attempt, day, from_region, to_region
),
ways AS (
  SELECT job_id, attempt, day, from_region, to_region, bytes FROM sent
  UNION ALL
  SELECT job_id, attempt, NULL, from_region, to_region, CAST(sum(bytes) AS BIGINT) FROM sent GROUP BY job_id, attempt, from_region, to_region
),
ranked AS (
  SELECT *, sum(bytes) OVER (PARTITION BY job_id, attempt, day) AS whole,
    row_number() OVER (PARTITION BY job_id, attempt, day ORDER BY bytes DESC, from_region, to_region) AS place
  FROM ways WHERE bytes > 0
),
paid AS (
  SELECT job_id, attempt, day, currency, CAST(sum(effective) AS DECIMAL(38,12)) AS effective, CAST(sum(billed) AS DECIMAL(38,12)) AS billed,
    CAST(sum(list) AS DECIMAL(38,12)) AS list, CAST(sum(contracted) AS DECIMAL(38,12)) AS contracted
  FROM shares WHERE category = 'network' AND job_id IS NOT NULL
  GROUP BY job_id, attempt, day, currency
),
pots AS (
  SELECT p.job_id, p.attempt, p.day, p.currency, in_units(p.effective) AS effective, in_units(p.billed) AS billed, in_units(p.list) AS list,
    in_units(p.contracted) AS contracted, d.day AS sent_day
  FROM paid p
  LEFT JOIN (SELECT DISTINCT job_id, attempt, day FROM ranked WHERE day IS NOT NULL) d ON d.job_id = p.job_id AND d.attempt = p.attempt AND d.day = p.day
),
handed AS (
  SELECT p.*, r.from_region, r.to_region, coalesce(r.place, 1) = 1 AS is_heaviest,
    CASE WHEN r.place > 1 THEN whole_part(p.effective, r.bytes, CAST(r.whole AS BIGINT)) ELSE 0 END AS effective_part,
    CASE WHEN r.place > 1 THEN whole_part(p.billed, r.bytes, CAST(r.whole AS BIGINT)) ELSE 0 END AS billed_part,
    CASE WHEN r.place > 1 THEN whole_part(p.list, r.bytes, CAST(r.whole AS BIGINT)) ELSE 0 END AS list_part,
    CASE WHEN r.place > 1 THEN whole_part(p.contracted, r.bytes, CAST(r.whole AS BIGINT)) ELSE 0 END AS contracted_part
  FROM pots p
  LEFT JOIN ranked r ON r.job_id = p.job_id AND r.attempt = p.attempt AND r.day IS NOT DISTINCT FROM p.sent_day
)
SELECT job_id, attempt, day, currency, from_region, to_region,
  as_money(CASE WHEN is_heaviest THEN effective - sum(effective_part) OVER pot ELSE effective_part END) AS effective,
  as_money(CASE WHEN is_heaviest THEN billed - sum(billed_part) OVER pot ELSE billed_part END) AS billed,
  as_money(CASE WHEN is_heaviest THEN list - sum(list_part) OVER pot ELSE list_part END) AS list,
  as_money(CASE WHEN is_heaviest THEN contracted - sum(contracted_part) OVER pot ELSE contracted_part END) AS contracted
FROM handed WINDOW pot AS (PARTITION BY job_id, attempt, day, currency)
