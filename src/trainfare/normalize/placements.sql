-- List which attempt held how much of which machine, from which second up to which.
-- In: holdings, machine_names, machines. Out: one row per holding and machine. A name that stood for several resources
-- is resolved by the time each existed. machine is null where the name is unknown.
SELECT h.holding, h.attempt_key, h.machine_id, m.machine,
  greatest(h.starts, coalesce(n.existed_from, h.starts)) AS starts,
  least(h.ends, coalesce(n.existed_to, h.ends)) AS ends,
  h.gpu_micros, h.cpu_millis, h.memory_mbs
FROM holdings h
LEFT JOIN machine_names n ON n.name = lower(h.machine_id) AND n.existed_from < h.ends AND n.existed_to > h.starts
LEFT JOIN machines m ON m.resource = n.resource
