-- List every charge period of the month once, widened outward to whole seconds.
-- In: charges. Out: periods; the key of a period is its start and length in one number.
SELECT period_key(period_start, period_end) AS period,
  epoch_second(period_start) AS starts, end_second(period_start, period_end) AS ends
FROM (SELECT DISTINCT period_start, period_end FROM charges)
WHERE epoch_second(period_start) < {{last_second}} AND end_second(period_start, period_end) > {{first_second}}
  AND period_end > period_start
