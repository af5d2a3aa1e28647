-- Number the spans in which one process reported an attempt on one machine: each start begins another.
-- In: archived events. Out: the events of known types with the span they belong to.
SELECT e.*, sum(CASE WHEN e.type = 'trainfare.start' THEN 1 ELSE 0 END) OVER (
    PARTITION BY e.source, e.job_id, e.attempt, e.machine_id ORDER BY e.time, e.line
  ) AS span
FROM {{events}} e
WHERE e.is_known
