-- List the ways with all that a share states; a negative number is for time.
-- In: grain_kinds, grain_currencies.
SELECT DISTINCT way_1 AS way, rule, category, source, origin, account, currency, converted_from, is_infrastructure,
  estimated
FROM grain_kinds
UNION ALL
SELECT -number, NULL, NULL, NULL, NULL, NULL, currency, NULL, true, false FROM grain_currencies
