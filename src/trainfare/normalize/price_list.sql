-- List the price of an hour of each kind of machine, with the seconds from which and up to which it is valid.
-- In: price_rows. Out: distinct prices; a row delivered twice counts once.
SELECT DISTINCT lower(kind) AS kind, lower(region) AS region, term, price, currency, epoch_second(valid_from) AS starts,
  coalesce(epoch_second(valid_to), 253402300800) AS ends, source
FROM price_rows
