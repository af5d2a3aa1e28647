-- Add up the measured energy of each machine per hour.
-- In: power_rows. Out: energy in 2 x 10^-6 kW x microseconds, so that the mean of two readings is an integer; the
-- measured microseconds, and their first and last. Time between two readings that crosses a full hour is split there.
WITH readings AS (
  SELECT lower(machine_id) AS machine, epoch_us(time) AS moment, max(CAST(kw * 1000000 AS BIGINT)) AS power
  FROM power_rows GROUP BY lower(machine_id), epoch_us(time)
),
spans AS (
  SELECT machine, moment AS starts, lead(moment) OVER following AS ends, power + lead(power) OVER following AS power
  FROM readings WINDOW following AS (PARTITION BY machine ORDER BY moment)
),
hourly AS (
  SELECT machine, starts, ends, power, unnest(range(starts // 3600000000, (ends - 1) // 3600000000 + 1)) AS hour
  FROM spans WHERE ends > starts AND ends - starts <= {{longest_gap_us}}
)
SELECT machine, hour,
  sum(CAST(power AS HUGEINT)
    * (least(ends, (hour + 1) * 3600000000) - greatest(starts, hour * 3600000000))) AS energy,
  sum(least(ends, (hour + 1) * 3600000000) - greatest(starts, hour * 3600000000)) AS measured_us,
  min(greatest(starts, hour * 3600000000)) AS first_us, max(least(ends, (hour + 1) * 3600000000)) AS last_us
FROM hourly GROUP BY machine, hour
