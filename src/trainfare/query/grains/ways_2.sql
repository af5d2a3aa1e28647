-- List the ways by category, origin and currency.
-- In: grain_kinds.
SELECT DISTINCT way_2 AS way, category, origin, currency, converted_from, is_infrastructure, estimated
FROM grain_kinds
