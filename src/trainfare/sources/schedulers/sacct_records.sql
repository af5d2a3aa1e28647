-- Join the lines of the file into records, and extract the columns that are read.
-- In: sacct_lines(line, text). Out: line, cells (the reader's columns, in its order; null: not readable), width.
-- Free text may contain the separator or a line break. A record is repaired only if everything in excess fits one
-- free text column, every other column then matches its pattern, and no other repair gives different values.
WITH counted AS (
  SELECT line, text, len(text) - len(replace(text, '|', '')) + 1 AS width
  FROM sacct_lines
  WHERE text <> {{header}}
),
-- Nothing is appended to a complete line, so that garbage after it is not read as its last column.
odd AS (
  SELECT *, coalesce(line > 1 + lag(line) OVER (ORDER BY line), true) OR regexp_matches(text, {{opening}}) AS opens
  FROM counted
  WHERE width <> {{width}}
),
records AS (
  SELECT
    min(line) AS line,
    string_split(string_agg(text, chr(10) ORDER BY line), '|') AS fields,
    len(fields) AS width
  FROM (SELECT *, sum(CAST(opens AS INTEGER)) OVER (ORDER BY line) AS record FROM odd)
  WHERE text <> ''
  GROUP BY record
),
candidates AS (
  SELECT
    line,
    list_concat(
      fields[:free - 1],
      [array_to_string(fields[free:free + width - {{width}}], '|')],
      fields[free + width - {{width}} + 1:]) AS fields
  FROM records, unnest({{free_text}}) AS columns(free)
  WHERE width >= {{width}}
),
repaired AS (
  SELECT line, any_value(cells) AS cells
  FROM (
    SELECT line, {{cells}} AS cells
    FROM candidates
    WHERE regexp_full_match(array_to_string(fields, chr(31)), {{record_pattern}}, 's'))
  GROUP BY line
  HAVING count(DISTINCT cells) = 1
)
SELECT line, {{cells}} AS cells, width
FROM (SELECT line, width, string_split(text, '|') AS fields FROM counted WHERE width = {{width}})
UNION ALL
SELECT records.line, repaired.cells, records.width
FROM records
LEFT JOIN repaired ON records.line = repaired.line
