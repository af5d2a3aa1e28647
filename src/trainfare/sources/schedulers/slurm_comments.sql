-- Extract the labels from each distinct comment.
-- In: slurm_records(comment). Out: comment, a column for each label of the contract, others (a flat JSON object).
-- `key=value` pairs are separated by semicolons, or by commas if there is no semicolon; of a repeated key the last
-- value counts. A comment that does not consist of pairs is kept unchanged, as the label `comment`.
WITH separated AS (
  SELECT comment, list_filter(
    [trim(part) FOR part IN string_split(comment, CASE WHEN contains(comment, ';') THEN ';' ELSE ',' END)],
    lambda part: part <> '') AS parts
  FROM (SELECT DISTINCT comment FROM slurm_records WHERE comment IS NOT NULL)
),
classified AS (
  SELECT *, list_bool_and([regexp_matches(part, '^[A-Za-z_][A-Za-z0-9_.-]* *=') FOR part IN parts]) AS is_pairs
  FROM separated
),
key_values AS (
  SELECT
    comment,
    position,
    trim(split_part(part, '=', 1)) AS key,
    trim(substr(part, instr(part, '=') + 1)) AS value
  FROM (
    SELECT comment, unnest(parts) AS part, generate_subscripts(parts, 1) AS position
    FROM classified
    WHERE is_pairs)
),
pairs AS (
  SELECT comment, key, arg_max(value, position) AS value
  FROM key_values
  WHERE value <> ''
  GROUP BY comment, key
  UNION ALL
  SELECT comment, 'comment', comment FROM classified WHERE NOT is_pairs
)
SELECT
  comment,
  {{labels}},
  to_json(map_from_entries(list({'k': key, 'v': value} ORDER BY key) FILTER (key NOT IN ({{label_names}})))) AS others
FROM pairs
GROUP BY comment
