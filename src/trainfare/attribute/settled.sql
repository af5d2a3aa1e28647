-- In: pots, handed_on. Out: what each piece has after handing on, per channel, in whole units. One column per basis and category.
SELECT channel, piece, {{summed}}
FROM (
  SELECT channel, piece, {{columns}} FROM pots
  UNION ALL
  SELECT channel, taker, {{columns}} FROM handed_on
  UNION ALL
  SELECT channel, giver, {{handed}} FROM handed_on
)
GROUP BY channel, piece
