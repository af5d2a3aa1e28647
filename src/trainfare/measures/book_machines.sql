-- List the machines with their attributes, as a book stores them.
-- In: machines.
SELECT machine, machine_id, resource_id,
  CAST(CAST(gpu_micros AS DECIMAL(18,0)) * 0.000001 AS DECIMAL(18,6)) AS gpus, gpu_model,
  CAST(CAST(cpu_millis AS DECIMAL(18,0)) * 0.001 AS DECIMAL(18,3)) AS cpus,
  CAST(CAST(memory_mbs AS DECIMAL(18,0)) * 0.001 AS DECIMAL(18,3)) AS memory_gb,
  pool, team, cluster, region, account, on_bill, listed
FROM machines
