-- In: keyed_charges, keyed_kinds, slots, weights. Out: what the heaviest piece of a pot hands on: to every other piece the whole part
-- of pot * weight / whole. What is taken here is given there, so nothing is lost or made.
WITH pots AS (
  SELECT k.channel, k.target, s.period, s.whole, s.heaviest,
    in_units(sum(c.effective)) AS effective, in_units(sum(c.billed)) AS billed,
    in_units(coalesce(sum(c.list), 0)) AS list, in_units(coalesce(sum(c.contracted), 0)) AS contracted
  FROM keyed_charges c
  JOIN keyed_kinds k ON k.kind = c.kind
  JOIN slots s ON s.target = k.target AND s.period = period_key(c.period_start, c.period_end)
  WHERE s.pieces > 1
  GROUP BY k.channel, k.target, s.period, s.whole, s.heaviest
)
SELECT p.channel, p.heaviest AS giver, w.piece AS taker,
  sum(whole_part(p.effective, w.weight, p.whole)) AS effective,
  sum(whole_part(p.billed, w.weight, p.whole)) AS billed,
  sum(whole_part(p.list, w.weight, p.whole)) AS list,
  sum(whole_part(p.contracted, w.weight, p.whole)) AS contracted
FROM pots p
JOIN weights w ON w.target = p.target AND w.period = p.period AND w.piece <> p.heaviest
GROUP BY p.channel, p.heaviest, w.piece
