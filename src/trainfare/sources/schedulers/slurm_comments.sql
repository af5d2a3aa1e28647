-- The labels in each distinct comment.
-- In: slurm_told(comment). Out: comment, a column for each label of the contract, others (a flat JSON object).
-- `key=value` pairs are parted by semicolons, or by commas where there is no semicolon; of a key written twice the
-- last counts. A comment that is not made of pairs is kept whole, as the label `comment`.
WITH cut AS (
  SELECT comment, list_filter(
    [trim(piece) FOR piece IN string_split(comment, CASE WHEN contains(comment, ';') THEN ';' ELSE ',' END)],
    lambda piece: piece <> '') AS pieces
  FROM (SELECT DISTINCT comment FROM slurm_told WHERE comment IS NOT NULL)
),
whole AS (
  SELECT *, list_bool_and([regexp_matches(piece, '^[A-Za-z_][A-Za-z0-9_.-]* *=') FOR piece IN pieces]) AS paired
  FROM cut
),
told AS (
  SELECT
    comment,
    position,
    trim(split_part(piece, '=', 1)) AS key,
    trim(substr(piece, instr(piece, '=') + 1)) AS said
  FROM (SELECT comment, unnest(pieces) AS piece, generate_subscripts(pieces, 1) AS position FROM whole WHERE paired)
),
pairs AS (
  SELECT comment, key, arg_max(said, position) AS said
  FROM told
  WHERE said <> ''
  GROUP BY comment, key
  UNION ALL
  SELECT comment, 'comment', comment FROM whole WHERE NOT paired
)
SELECT
  comment,
  {{labels}},
  to_json(map_from_entries(list({'k': key, 'v': said} ORDER BY key) FILTER (key NOT IN ({{label_names}})))) AS others
FROM pairs
GROUP BY comment
