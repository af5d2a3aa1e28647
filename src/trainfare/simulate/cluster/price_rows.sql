-- Select the rows of the price list: the price of an hour of each machine type.
-- In: pools.
SELECT instance AS kind, region, market AS term, as_money(price * gpus * 3600) AS price, 'USD' AS currency,
  utc_text({{start}}) AS valid_from, NULL AS valid_to, 'price page' AS source
FROM pools WHERE market <> 'reserved' ORDER BY ALL
