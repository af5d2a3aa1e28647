-- In: cells of machines with uneven pots, timeline, sizes, uneven_slots. Out: the same cells cut where holding changes, each second of the machine worth a number of parts
-- ({{worth}}) that its holders of that second share. The running sum hands out all parts, losing none.
WITH stretches AS (
  SELECT target, whole, worth, hour, greatest(starts, hour * 3600) AS starts, least(ends, hour * 3600 + 3600) AS ends
  FROM (
    SELECT t.target, greatest(t.held, coalesce(s.capacity, t.held)) AS whole, {{worth}} AS worth, t.starts, t.ends,
      unnest(range(t.starts // 3600, (t.ends + 3599) // 3600)) AS hour
    FROM timeline t JOIN sizes s ON s.target = t.target
    WHERE t.target IN (SELECT target FROM uneven_slots)
  )
),
cut AS (
  SELECT c.target, c.attempt_key, c.grip, s.hour, s.starts, s.ends, s.whole, s.worth,
    sum(c.grip) OVER (PARTITION BY c.target, s.starts ORDER BY c.attempt_key, c.starts, c.ends, c.grip ROWS UNBOUNDED PRECEDING) AS upto
  FROM cells c
  JOIN stretches s ON s.target = c.target AND s.hour = c.hour AND s.starts < c.ends AND s.ends > c.starts
)
SELECT target, attempt_key,
  CAST(worth * CAST(upto AS HUGEINT) // whole - worth * CAST(upto - grip AS HUGEINT) // whole AS BIGINT) AS grip,
  hour, starts, ends
FROM cut
