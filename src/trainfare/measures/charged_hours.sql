-- Count the distinct hours for which each target has hourly charges.
-- In: keyed_charges, time_charge_kinds. Out: one row per target. 60 hours are the bits of one number: counting millions
-- of them one by one takes ten times as long.
SELECT target, CAST(sum(bit_count(hours)) AS BIGINT) AS hours
FROM (
  SELECT k.target, epoch_second(c.period_start) // 216000 AS block,
    bit_or(CAST(1 AS BIGINT) << CAST(epoch_second(c.period_start) // 3600 % 60 AS INTEGER)) AS hours
  FROM keyed_charges c JOIN time_charge_kinds k ON k.kind = c.kind
  WHERE k.shortest = 3600 AND k.longest = 3600
  GROUP BY k.target, epoch_second(c.period_start) // 216000
)
GROUP BY target
