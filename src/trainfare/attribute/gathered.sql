-- In: keyed_charges, keyed_kinds, slots. Out: the bill's lines added up, with one column per basis and category. Lines of a pot with several pieces are added up to the pot
-- (period says which); all others straight to the one piece that gets them. Lines of pots that nobody weighs in go to their kind's default
-- payer on the day they begin. piece is who holds the money at first.
SELECT k.channel, CASE WHEN s.pieces > 1 THEN s.period END AS period,
  coalesce(s.heaviest, k.default_payer * 65536 + epoch_second(c.period_start) // 86400) AS piece,
  {{sums}}
FROM keyed_charges c
JOIN keyed_kinds k ON k.kind = c.kind
LEFT JOIN slots s ON s.target = k.target AND s.period = period_key(c.period_start, c.period_end)
GROUP BY k.channel, CASE WHEN s.pieces > 1 THEN s.period END,
  coalesce(s.heaviest, k.default_payer * 65536 + epoch_second(c.period_start) // 86400)
