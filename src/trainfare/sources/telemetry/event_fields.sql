-- Extract the fields of each event, as text.
-- In: event_lines, one row per line with its attributes as text. Out: one row per line; is_known is whether Trainfare
-- knows this type of event in this version. Values that are objects or lists are JSON text.
SELECT e.line, e.id, e.source, e.type, e.time, e.data, e.attributes,
  e.is_readable AND e.type IN ({{types}}) AND coalesce(json_extract_string(e.data, '$.v'), '1') = '1' AS is_known,
  json_extract_string(e.data, '$.job') AS job, json_extract_string(e.data, '$.attempt') AS attempt,
  json_extract_string(e.data, '$.machine') AS machine, json_extract_string(e.data, '$.seq') AS seq,
  json_extract_string(e.data, '$.started') AS started, json_extract_string(e.data, '$.step') AS step,
  json_extract_string(e.data, '$.gpus') AS gpus, json_extract_string(e.data, '$.state') AS state,
  json_extract_string(e.data, '$.cluster') AS cluster, json_extract_string(e.data, '$.reason') AS reason,
  coalesce(json_extract_string(e.data, '$.failed') = 'true', false) AS failed,
  json_extract_string(e.data, '$.from_region') AS from_region,
  json_extract_string(e.data, '$.to_region') AS to_region,
  json_extract_string(e.data, '$.labels') AS labels, json_extract_string(e.data, '$.native') AS native,
  json_extract_string(e.data, '$.values') AS "values"
FROM event_lines e
