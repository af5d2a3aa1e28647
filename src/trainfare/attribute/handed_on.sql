-- In: gathered, channels, slots, weights. Out: what the heaviest piece of a pot hands on: to every other piece the whole part of pot * weight / whole. What is
-- taken here is given there, so nothing is lost or made. One column per basis and category.
WITH pots AS (
  SELECT g.channel, c.target, g.period, g.piece AS heaviest, s.whole, {{units}}
  FROM gathered g
  JOIN channels c ON c.channel = g.channel
  JOIN slots s ON s.target = c.target AND s.period = g.period
  WHERE g.period IS NOT NULL
)
SELECT p.channel, p.heaviest AS giver, w.piece AS taker,
  {{parts}}
FROM pots p
JOIN weights w ON w.target = p.target AND w.period = p.period AND w.piece <> p.heaviest
GROUP BY p.channel, p.heaviest, w.piece
