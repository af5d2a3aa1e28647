-- Determine by what each machine of one weighing is weighed, and how much of that it has.
-- In: targets of the weighing, machines, placements. Out: per machine its measure and capacity per second (null if
-- unknown). A machine without GPUs is weighed by CPUs, one of unknown size by time alone. unit shortens the numbers:
-- whole GPUs need no millionths. By weighted resources the capacity is the weighted sum of all that the machine has.
WITH facts AS (
  SELECT t.target, m.machine,
    any_value(m.gpu_micros) AS gpu_micros, any_value(m.cpu_millis) AS cpu_millis,
    any_value(m.memory_mbs) AS memory_mbs,
    any_value(m.existed_from) AS existed_from, any_value(m.existed_to) AS existed_to,
    coalesce(max(p.gpu_micros), 0) AS most_gpus, coalesce(max(p.cpu_millis), 0) AS most_cpus,
    coalesce(max(p.memory_mbs), 0) AS most_memory,
    coalesce(bool_and(p.gpu_micros % 1000000 = 0), true)
      AND coalesce(any_value(m.gpu_micros) % 1000000 = 0, true) AS has_whole_gpus
  FROM targets t
  JOIN machines m ON m.machine = t.machine
  LEFT JOIN placements p ON p.machine = m.machine
  WHERE t.weighing = {{weighing}}
  GROUP BY t.target, m.machine
),
measured AS (
  SELECT *, {{measure}} AS measure FROM facts
)
SELECT target, machine, measure, existed_from, existed_to,
  CASE WHEN measure = 'gpu' AND has_whole_gpus THEN 1000000 ELSE 1 END AS unit,
  CASE measure
    WHEN 'gpu' THEN gpu_micros // CASE WHEN has_whole_gpus THEN 1000000 ELSE 1 END
    WHEN 'cpu' THEN cpu_millis
    WHEN 'memory' THEN memory_mbs
    WHEN 'dominant' THEN 1000000
    WHEN 'weighted' THEN {{weighted_size}}
    ELSE 1
  END AS capacity,
  gpu_micros, cpu_millis, memory_mbs
FROM measured
