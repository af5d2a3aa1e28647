-- In: keyed_charges, timed_kinds. Out: for how many different hours each target has charges of an hour. 60 hours are the bits of one number: to count millions of them one by one takes ten times as long.
SELECT target, CAST(sum(bit_count(hours)) AS BIGINT) AS hours
FROM (
  SELECT k.target, epoch_second(c.period_start) // 216000 AS block,
    bit_or(CAST(1 AS BIGINT) << CAST(epoch_second(c.period_start) // 3600 % 60 AS INTEGER)) AS hours
  FROM keyed_charges c JOIN timed_kinds k ON k.kind = c.kind
  WHERE k.shortest = 3600 AND k.longest = 3600
  GROUP BY k.target, epoch_second(c.period_start) // 216000
)
GROUP BY target
