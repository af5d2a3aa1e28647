-- Put the lines of the file together to records, and take from each the columns that are read.
-- In: sacct_lines(line, text). Out: line, told (the columns of the reader, in its order; null: not readable), width.
-- Free text may hold the separator or a line break. A record is mended only if all that is too much fits into one
-- free text column, every other column then reads as it should, and no other mending gives other values.
WITH counted AS (
  SELECT line, text, len(text) - len(replace(text, '|', '')) + 1 AS width
  FROM sacct_lines
  WHERE text <> {{header}}
),
-- Nothing is added to a line that is complete, so that rubbish after it is not taken for its last column.
odd AS (
  SELECT *, coalesce(line > 1 + lag(line) OVER (ORDER BY line), true) OR regexp_matches(text, {{opens}}) AS opens
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
  FROM records, unnest({{free}}) AS places(free)
  WHERE width >= {{width}}
),
mended AS (
  SELECT line, any_value(told) AS told
  FROM (
    SELECT line, {{told}} AS told
    FROM candidates
    WHERE regexp_full_match(array_to_string(fields, chr(31)), {{row}}, 's'))
  GROUP BY line
  HAVING count(DISTINCT told) = 1
)
SELECT line, {{told}} AS told, width
FROM (SELECT line, width, string_split(text, '|') AS fields FROM counted WHERE width = {{width}})
UNION ALL
SELECT records.line, mended.told, records.width
FROM records
LEFT JOIN mended ON records.line = mended.line
