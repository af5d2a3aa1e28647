-- Count the total, lost and overhead seconds of attempts per day.
-- In: attempt_summary, work_spans. Out: one row per day of each attempt with lost or overhead time; bounded where the
-- lost time is an upper bound.
WITH spans AS (
  SELECT attempt_key, part, bounded, starts, ends, starts // 86400 AS first_day, (ends - 1) // 86400 AS last_day
  FROM (
    SELECT attempt_key, part, how = 'at most' AS bounded, starts, ends FROM work_spans
    UNION ALL
    SELECT attempt_key, 'total', false, starts, ends
    FROM attempt_summary WHERE ends > starts AND attempt_key IN (SELECT attempt_key FROM work_spans)
  )
),
daily AS (
  SELECT attempt_key, first_day AS day, part, bounded, ends - starts AS seconds FROM spans WHERE first_day = last_day
  UNION ALL
  SELECT attempt_key, day, part, bounded, least(ends, day * 86400 + 86400) - greatest(starts, day * 86400)
  FROM (SELECT *, unnest(range(first_day, last_day + 1)) AS day FROM spans WHERE first_day < last_day)
)
SELECT attempt_key, CAST(day AS INTEGER) AS day,
  CAST(coalesce(sum(CASE WHEN part = 'total' THEN seconds END), 0) AS BIGINT) AS total,
  CAST(coalesce(sum(CASE WHEN part = 'lost' THEN seconds END), 0) AS BIGINT) AS lost,
  CAST(coalesce(sum(CASE WHEN part = 'overhead' THEN seconds END), 0) AS BIGINT) AS overhead,
  bool_or(bounded) AS bounded
FROM daily GROUP BY attempt_key, day
