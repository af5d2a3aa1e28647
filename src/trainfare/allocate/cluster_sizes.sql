-- Determine the capacity of every machine in the clusters of one weighing.
-- In: targets of the weighing, machines, placements. Out: the machines, numbered like targets, with their capacity per
-- second (null if unknown). All machines of a cluster are counted in the same measure: GPUs if there are any, else
-- CPUs, else time.
WITH facts AS (
  SELECT t.target AS cluster, max(m.gpu_micros) AS gpu_micros, max(m.cpu_millis) AS cpu_millis,
    max(m.memory_mbs) AS memory_mbs, coalesce(max(p.gpu_micros), 0) AS most_gpus,
    coalesce(max(p.cpu_millis), 0) AS most_cpus, coalesce(max(p.memory_mbs), 0) AS most_memory
  FROM targets t
  JOIN machines m ON lower(m.cluster) = t.scope
  LEFT JOIN placements p ON p.machine = m.machine
  WHERE t.weighing = {{weighing}}
  GROUP BY t.target
),
measured AS (
  SELECT cluster, {{measure}} AS measure FROM facts
)
SELECT CAST(row_number() OVER (ORDER BY q.cluster, m.machine) AS INTEGER) AS target, q.cluster, m.machine, q.measure,
  m.existed_from, m.existed_to, 1 AS unit,
  CASE q.measure
    WHEN 'gpu' THEN m.gpu_micros
    WHEN 'cpu' THEN m.cpu_millis
    WHEN 'memory' THEN m.memory_mbs
    WHEN 'dominant' THEN 1000000
    ELSE {{wall_weight}}
  END AS capacity,
  m.gpu_micros, m.cpu_millis, m.memory_mbs
FROM measured q
JOIN targets t ON t.target = q.cluster
JOIN machines m ON lower(m.cluster) = t.scope
