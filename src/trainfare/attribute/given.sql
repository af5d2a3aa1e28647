-- In: keyed_charges, keyed_kinds, slots. Out: every bill line's money given whole to the heaviest piece of its pot. Lines of pots that
-- nobody weighs in go to their kind's default payer on the day they begin.
SELECT k.channel, coalesce(s.heaviest, k.default_payer * 65536 + epoch_second(c.period_start) // 86400) AS piece,
  sum(c.effective) AS effective, sum(c.billed) AS billed,
  coalesce(sum(c.list), 0) AS list, coalesce(sum(c.contracted), 0) AS contracted
FROM keyed_charges c
JOIN keyed_kinds k ON k.kind = c.kind
LEFT JOIN slots s ON s.target = k.target AND s.period = period_key(c.period_start, c.period_end)
GROUP BY k.channel, coalesce(s.heaviest, k.default_payer * 65536 + epoch_second(c.period_start) // 86400)
