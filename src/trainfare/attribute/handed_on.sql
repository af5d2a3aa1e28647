-- In: pots, weights. Out: what the heaviest piece of a pot hands on: to every other piece the whole part of pot * weight / whole. What is
-- taken here is given there, so nothing is lost or made. One column per basis and category.
SELECT p.channel, p.piece AS giver, w.piece AS taker,
  {{parts}}
FROM pots p
JOIN weights w ON w.target = p.target AND w.period = p.period AND w.piece <> p.piece
WHERE p.whole IS NOT NULL
GROUP BY p.channel, p.piece, w.piece
