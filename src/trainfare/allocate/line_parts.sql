-- Split every bill line of the requested pots across its payers.
-- In: lines, weight_totals, weights. Out: every payer's part of every line. The lines of a pot are added up one after
-- the other and the running sum is split each time; a line's part is the growth of the payer's part. So the parts of a
-- line add up to the line, and a payer's parts add up to its part of the pot, both to the last digit.
WITH lines AS (
  SELECT l.*
  FROM ({{lines}}) l
  JOIN weight_totals w ON w.target = l.target AND w.period = l.period
  {{only}}
),
running AS (
  SELECT *, {{running_sums}}
  FROM lines
  WINDOW pot AS (PARTITION BY route, category, period ORDER BY delivery, line ROWS UNBOUNDED PRECEDING)
),
weighted AS (
  SELECT l.*, w.payer_day, w.weight
  FROM running l JOIN weights w ON w.target = l.target AND w.period = l.period
)
{{split}}
