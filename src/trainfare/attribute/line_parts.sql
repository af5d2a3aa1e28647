-- In: keyed_charges, keyed_kinds, slots, weights. Out: every payer's part of every bill line of the pots asked for. A pot's lines are added up one after the other
-- and the sum so far is split each time; a line's part is the growth of the payer's part. So the parts of a line add up to the line, and a
-- payer's parts add up to its part of the pot, both to the last digit.
WITH lines AS (
  SELECT c.delivery, c.line, k.channel, k.category, k.target, s.period, s.whole, s.heaviest,
    in_units(c.effective) AS effective, in_units(c.billed) AS billed,
    in_units(coalesce(c.list, 0)) AS list, in_units(coalesce(c.contracted, 0)) AS contracted
  FROM keyed_charges c
  JOIN keyed_kinds k ON k.kind = c.kind
  JOIN slots s ON s.target = k.target AND s.period = period_key(c.period_start, c.period_end)
  {{only}}
),
running AS (
  SELECT *,
    sum(effective) OVER pot AS effective_upto, sum(billed) OVER pot AS billed_upto,
    sum(list) OVER pot AS list_upto, sum(contracted) OVER pot AS contracted_upto
  FROM lines
  WINDOW pot AS (PARTITION BY channel, category, period ORDER BY delivery, line ROWS UNBOUNDED PRECEDING)
),
handed AS (
  SELECT r.delivery, r.line, r.channel, r.category, r.period, w.piece, w.weight, r.whole,
    whole_part(r.effective_upto, w.weight, r.whole) - whole_part(r.effective_upto - r.effective, w.weight, r.whole) AS effective,
    whole_part(r.billed_upto, w.weight, r.whole) - whole_part(r.billed_upto - r.billed, w.weight, r.whole) AS billed,
    whole_part(r.list_upto, w.weight, r.whole) - whole_part(r.list_upto - r.list, w.weight, r.whole) AS list,
    whole_part(r.contracted_upto, w.weight, r.whole) - whole_part(r.contracted_upto - r.contracted, w.weight, r.whole) AS contracted
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
