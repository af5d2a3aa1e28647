-- List who held how much of which machine, within the time that the bill covers.
-- In: sizes, placements. Out: holds. A placement without an amount holds the entire machine, or one GPU, CPU or GB
-- where the machine's size is unknown too.
SELECT s.target, p.attempt_key,
  greatest(p.starts, {{first_second}}) AS starts, least(p.ends, {{last_second}}) AS ends,
  CASE s.measure
    WHEN 'gpu' THEN coalesce(p.gpu_micros // s.unit, s.capacity, 1000000 // s.unit)
    WHEN 'cpu' THEN coalesce(p.cpu_millis, s.capacity, 1000)
    WHEN 'memory' THEN coalesce(p.memory_mbs, s.capacity, 1000)
    WHEN 'dominant' THEN CASE
      WHEN p.gpu_micros IS NULL AND p.cpu_millis IS NULL AND p.memory_mbs IS NULL THEN 1000000
      ELSE greatest(
        coalesce(p.gpu_micros * 1000000 // nullif(s.gpu_micros, 0),
          CASE WHEN p.gpu_micros > 0 THEN 1000000 ELSE 0 END),
        coalesce(p.cpu_millis * 1000000 // nullif(s.cpu_millis, 0),
          CASE WHEN p.cpu_millis > 0 THEN 1000000 ELSE 0 END),
        coalesce(p.memory_mbs * 1000000 // nullif(s.memory_mbs, 0),
          CASE WHEN p.memory_mbs > 0 THEN 1000000 ELSE 0 END)) END
    WHEN 'weighted' THEN {{weighted_hold}}
    ELSE {{wall_weight}}
  END AS held_amount,
  s.capacity
FROM placements p
JOIN sizes s ON s.machine = p.machine
WHERE p.ends > {{first_second}} AND p.starts < {{last_second}}
