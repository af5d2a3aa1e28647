-- Turn steps, checkpoints and measured values into usage.
-- In: events with their spans. Out: rows of usage. A step's span begins with the previous step, the first one when
-- training started. A checkpoint that failed does not count; without a start of its own, it began with the last
-- checkpoint_begin of its step, or is a moment. Values that are no measure of the account are left out here.
WITH events AS (
  {{spans}}
),
steps AS (
  SELECT *, lag(time) OVER (
      PARTITION BY source, job_id, attempt, machine_id, span ORDER BY time, line
    ) AS previous
  FROM events WHERE type = 'trainfare.step'
),
begins AS (
  SELECT e.line, max(b.time) AS began
  FROM events e
  JOIN events b ON b.type = 'trainfare.checkpoint_begin' AND b.source = e.source AND b.job_id = e.job_id
    AND b.attempt = e.attempt AND b.span = e.span AND b.step = e.step AND b.time <= e.time
  WHERE e.type = 'trainfare.checkpoint_end' GROUP BY e.line
),
measured AS (
  SELECT *, unnest(json_keys("values")) AS measure FROM events WHERE type = 'trainfare.usage'
)
SELECT job_id, attempt, CAST(NULL AS VARCHAR) AS machine_id, coalesce(started, previous, time) AS started,
  time AS ended, 'step' AS measure, step AS value, CAST(NULL AS VARCHAR) AS from_region,
  CAST(NULL AS VARCHAR) AS to_region, line
FROM steps
UNION ALL
SELECT e.job_id, e.attempt, NULL, coalesce(e.started, b.began, e.time), e.time, 'checkpoint', e.step, NULL, NULL, e.line
FROM events e LEFT JOIN begins b ON b.line = e.line
WHERE e.type = 'trainfare.checkpoint_end' AND NOT e.failed
UNION ALL
SELECT job_id, attempt, machine_id, coalesce(started, time), time, measure,
  CAST(json_value("values", measure) AS DECIMAL(26,6)), from_region, to_region, line
FROM measured WHERE measure IN ({{measures}})
