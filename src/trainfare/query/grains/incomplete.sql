-- List the days of attempts of which not every held second is billed, per currency.
-- In: grain_billed, grain_currencies, book_month.
-- Out: per attempt and day the billed seconds of its machines, and the GPU time held and billed, in millionths of GPU
-- seconds. A running attempt holds its machines on, at least to the end of the day through which its hours are known.
WITH spans AS (
  SELECT way, attempt_key, starts, ends, gpu_micros, billed_starts, billed_ends FROM grain_billed
  UNION ALL
  SELECT b.way, b.attempt_key, max(b.ends), max(b.ends) // 86400 * 86400 + 86400, arg_max(b.gpu_micros, b.ends), NULL,
    NULL
  FROM grain_billed b CROSS JOIN book_month m
  WHERE b.running GROUP BY b.way, b.attempt_key, b.place, m.month_end HAVING max(b.ends) < m.month_end
),
unbilled AS (
  SELECT DISTINCT way, attempt_key FROM spans
  WHERE billed_starts IS NULL OR billed_starts > starts OR billed_ends < ends
),
cut AS (
  SELECT way, attempt_key, number, coalesce(gpu_micros, 0) AS gpu_micros,
    least(ends, number * 86400 + 86400) - greatest(starts, number * 86400) AS seconds,
    CASE WHEN billed_starts IS NOT NULL THEN greatest(least(billed_ends, number * 86400 + 86400)
      - greatest(billed_starts, number * 86400), 0) ELSE 0 END AS billed_seconds
  FROM (
    SELECT s.*, unnest(range(s.starts // 86400, (s.ends + 86399) // 86400)) AS number
    FROM spans s JOIN unbilled u ON u.way = s.way AND u.attempt_key = s.attempt_key
  )
)
SELECT t.way, c.currency, t.attempt_key, CAST(t.number AS INTEGER) AS day,
  CAST(sum(t.billed_seconds) AS BIGINT) AS billed_seconds,
  CAST(sum(CAST(t.seconds AS HUGEINT) * t.gpu_micros) AS HUGEINT) AS held,
  CAST(sum(CAST(t.billed_seconds AS HUGEINT) * t.gpu_micros) AS HUGEINT) AS billed
FROM cut t JOIN grain_currencies c ON c.number = -t.way
GROUP BY t.way, c.currency, t.attempt_key, t.number
HAVING sum(t.seconds) > sum(t.billed_seconds)
