-- In: tries, work_spans. Out: per attempt that has any, and per day, its seconds and those of them that were lost and overhead; and whether that is the most it can have lost.
WITH spans AS (
  SELECT attempt_key, part, bounded, starts, ends, starts // 86400 AS first_day, (ends - 1) // 86400 AS last_day
  FROM (
    SELECT attempt_key, part, how = 'at most' AS bounded, starts, ends FROM work_spans
    UNION ALL
    SELECT attempt_key, 'whole', false, starts, ends FROM tries WHERE ends > starts AND attempt_key IN (SELECT attempt_key FROM work_spans)
  )
),
cut AS (
  SELECT attempt_key, first_day AS day, part, bounded, ends - starts AS seconds FROM spans WHERE first_day = last_day
  UNION ALL
  SELECT attempt_key, day, part, bounded, least(ends, day * 86400 + 86400) - greatest(starts, day * 86400)
  FROM (SELECT *, unnest(range(first_day, last_day + 1)) AS day FROM spans WHERE first_day < last_day)
)
SELECT attempt_key, CAST(day AS INTEGER) AS day,
  CAST(coalesce(sum(CASE WHEN part = 'whole' THEN seconds END), 0) AS BIGINT) AS whole,
  CAST(coalesce(sum(CASE WHEN part = 'lost' THEN seconds END), 0) AS BIGINT) AS lost,
  CAST(coalesce(sum(CASE WHEN part = 'overhead' THEN seconds END), 0) AS BIGINT) AS overhead,
  bool_or(bounded) AS bounded
FROM cut GROUP BY attempt_key, day
