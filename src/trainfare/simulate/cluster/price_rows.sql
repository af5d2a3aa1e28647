-- In: pools, month. Out: a price list: what an hour of each kind of machine costs.
SELECT instance AS kind, region, market AS term, in_money(price * gpus * 3600) AS price, 'USD' AS currency,
  text_of({{start}}) AS valid_from, NULL AS valid_to, 'price page' AS source
FROM pools WHERE market <> 'reserved' ORDER BY ALL
