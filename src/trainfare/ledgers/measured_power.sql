-- In: power_rows, laid_months. Out: per machine and hour the energy that was measured, in 2 x 10^-6 kW x microseconds, so that the mean of two readings is whole;
-- how long, and from when to when. What lies between two readings and over a full hour is divided there by time.
WITH readings AS (
  SELECT lower(machine_id) AS machine, epoch_us(time) AS moment, max(CAST(kw * 1000000 AS BIGINT)) AS power
  FROM power_rows GROUP BY lower(machine_id), epoch_us(time)
),
spans AS (
  SELECT machine, moment AS starts, lead(moment) OVER following AS ends, power + lead(power) OVER following AS power
  FROM readings WINDOW following AS (PARTITION BY machine ORDER BY moment)
),
cut AS (
  SELECT machine, starts, ends, power, unnest(range(starts // 3600000000, (ends - 1) // 3600000000 + 1)) AS hour
  FROM spans WHERE ends > starts AND ends - starts <= {{longest_gap_us}}
)
SELECT machine, hour, sum(CAST(power AS HUGEINT) * (least(ends, (hour + 1) * 3600000000) - greatest(starts, hour * 3600000000))) AS energy,
  sum(least(ends, (hour + 1) * 3600000000) - greatest(starts, hour * 3600000000)) AS covered,
  min(greatest(starts, hour * 3600000000)) AS first_us, max(least(ends, (hour + 1) * 3600000000)) AS last_us
FROM cut GROUP BY machine, hour
