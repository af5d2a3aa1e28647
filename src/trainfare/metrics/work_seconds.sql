-- In: tries, work_spans. Out: per attempt that has any, and per day, the seconds of its time that were kept, lost and overhead; the row with day null has all of them.
WITH cut AS (
  SELECT attempt_key, day, part, least(ends, day * 86400 + 86400) - greatest(starts, day * 86400) AS seconds
  FROM (
    SELECT attempt_key, part, starts, ends, unnest(range(starts // 86400, (ends + 86399) // 86400)) AS day
    FROM (
      SELECT attempt_key, part, starts, ends FROM work_spans
      UNION ALL
      SELECT attempt_key, 'whole', starts, ends FROM tries WHERE attempt_key IN (SELECT attempt_key FROM work_spans)
    )
  )
),
days AS (
  SELECT attempt_key, day,
    CAST(coalesce(sum(CASE WHEN part = 'whole' THEN seconds END), 0) AS BIGINT) AS whole,
    CAST(coalesce(sum(CASE WHEN part = 'lost' THEN seconds END), 0) AS BIGINT) AS lost,
    CAST(coalesce(sum(CASE WHEN part = 'overhead' THEN seconds END), 0) AS BIGINT) AS overhead
  FROM cut GROUP BY attempt_key, day
),
told AS (
  SELECT attempt_key, day, whole, lost, overhead FROM days
  UNION ALL
  SELECT attempt_key, NULL, CAST(sum(whole) AS BIGINT), CAST(sum(lost) AS BIGINT), CAST(sum(overhead) AS BIGINT) FROM days GROUP BY attempt_key
)
SELECT t.attempt_key, t.day, t.whole, t.whole - t.lost - t.overhead AS kept, t.lost, t.overhead FROM told t
