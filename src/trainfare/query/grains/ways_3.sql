-- List the ways that tell infrastructure and estimates apart, per currency; a negative number is for time.
-- In: grain_kinds, grain_currencies.
SELECT DISTINCT way_3 AS way, currency, is_infrastructure, estimated FROM grain_kinds
UNION ALL
SELECT time_way, currency, true, false FROM grain_currencies WHERE time_way < 0
