-- In: price_rows. Out: what an hour of each kind of machine costs, from which second up to which. A row delivered twice counts once.
SELECT DISTINCT lower(kind) AS kind, lower(region) AS region, term, price, currency, epoch_second(valid_from) AS starts,
  coalesce(epoch_second(valid_to), 253402300800) AS ends, source
FROM price_rows
