-- In: given, handed_on. Out: what each piece has after handing on, per channel.
SELECT channel, piece, sum(effective) AS effective, sum(billed) AS billed, sum(list) AS list, sum(contracted) AS contracted
FROM (
  SELECT channel, piece, effective, billed, list, contracted FROM given
  UNION ALL
  SELECT channel, taker, as_money(effective), as_money(billed), as_money(list), as_money(contracted) FROM handed_on
  UNION ALL
  SELECT channel, giver, -as_money(effective), -as_money(billed), -as_money(list), -as_money(contracted) FROM handed_on
)
GROUP BY channel, piece
