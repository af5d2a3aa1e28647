-- In: keyed_charges, keyed_kinds, slots, weights. Out: every payer's part of every bill line of the pots asked for. A pot's lines are added up one after the other
-- and the sum so far is split each time; a line's part is the growth of the payer's part. So the parts of a line add up to the line, and a
-- payer's parts add up to its part of the pot, both to the last digit.
WITH lines AS (
  SELECT l.*, s.whole, s.heaviest
  FROM ({{lines}}) l
  JOIN slots s ON s.target = l.target AND s.period = l.period
  {{only}}
),
running AS (
  SELECT *, {{upto}}
  FROM lines
  WINDOW pot AS (PARTITION BY channel, category, period ORDER BY delivery, line ROWS UNBOUNDED PRECEDING)
),
handed AS (
  SELECT r.delivery, r.line, r.channel, r.category, r.period, w.piece, w.weight, r.whole, {{parts}}
  FROM running r
  JOIN weights w ON w.target = r.target AND w.period = r.period AND w.piece <> r.heaviest
),
taken AS (
  SELECT delivery, line, sum(weight) AS weight, sum(effective) AS effective, sum(billed) AS billed, sum(list) AS list,
    sum(contracted) AS contracted
  FROM handed GROUP BY delivery, line
)
SELECT delivery, line, channel, category, period, piece, weight, whole, effective, billed, list, contracted FROM handed
UNION ALL
SELECT r.delivery, r.line, r.channel, r.category, r.period, r.heaviest, CAST(r.whole - coalesce(t.weight, 0) AS BIGINT), r.whole,
  r.effective - coalesce(t.effective, 0), r.billed - coalesce(t.billed, 0), r.list - coalesce(t.list, 0),
  r.contracted - coalesce(t.contracted, 0)
FROM running r
LEFT JOIN taken t ON t.delivery = r.delivery AND t.line = r.line
