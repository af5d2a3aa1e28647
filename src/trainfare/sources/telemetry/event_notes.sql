-- List what a reader of the figures should know about the events of a file.
-- In: events with their spans, and all archived events. Out: rows of event_notes: events of unknown types or versions,
-- events that are missing from the numbering of their process, and attempts whose events stop without an end.
WITH events AS (
  {{spans}}
),
numbered AS (
  SELECT job_id, attempt, time, line, seq, reason, type, source, regexp_extract(id, '^(.*)-[0-9]+$', 1) AS process
  FROM {{events}} WHERE seq IS NOT NULL
)
SELECT 'unrecognized' AS note, min(job_id) AS job_id, min(attempt) AS attempt, max(time) AS noted,
  count(*) AS events, type AS detail, min(line) AS line
FROM {{events}} WHERE NOT is_known GROUP BY type
UNION ALL
SELECT 'missing', min(job_id), min(attempt), max(time), max(seq) - min(seq) + 1 - count(DISTINCT seq),
  max(CASE WHEN type = 'trainfare.gap' THEN reason END), min(line)
FROM numbered GROUP BY source, process HAVING max(seq) - min(seq) + 1 > count(DISTINCT seq)
UNION ALL
SELECT 'no end', job_id, attempt, max(time), count(*), machine_id, min(line)
FROM events GROUP BY source, job_id, attempt, machine_id, span
HAVING count(CASE WHEN type = 'trainfare.end' THEN 1 END) = 0
