-- Cut hours of overcommitted or unsized machines where holding changes, and split each second across its holders.
-- In: hold_hours, timeline, sizes, overcommitted_periods. Out: the same hours, cut; every second has a fixed number of
-- parts, all of which the running sum hands out to those who held the machine in it.
WITH intervals AS (
  SELECT target, total_amount, second_weight, hour,
    greatest(starts, hour * 3600) AS starts, least(ends, hour * 3600 + 3600) AS ends
  FROM (
    SELECT t.target, greatest(t.held, coalesce(s.capacity, t.held)) AS total_amount, {{second_weight}} AS second_weight,
      t.starts, t.ends, unnest(range(t.starts // 3600, (t.ends + 3599) // 3600)) AS hour
    FROM timeline t JOIN sizes s ON s.target = t.target
    WHERE t.target IN (SELECT target FROM overcommitted_periods)
  )
),
cut AS (
  SELECT h.target, h.attempt_key, h.held_amount, i.hour, i.starts, i.ends, i.total_amount, i.second_weight,
    sum(h.held_amount) OVER (
      PARTITION BY h.target, i.starts ORDER BY h.attempt_key, h.starts, h.ends, h.held_amount ROWS UNBOUNDED PRECEDING
    ) AS running_amount
  FROM hold_hours h
  JOIN intervals i ON i.target = h.target AND i.hour = h.hour AND i.starts < h.ends AND i.ends > h.starts
)
SELECT target, attempt_key,
  CAST(second_weight * CAST(running_amount AS HUGEINT) // total_amount
    - second_weight * CAST(running_amount - held_amount AS HUGEINT) // total_amount AS BIGINT) AS held_amount,
  hour, starts, ends
FROM cut
