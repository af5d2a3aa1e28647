-- Machines with charges in the month and a holder, of which neither a machine file nor the instance type tells the GPUs.
SELECT 'machine ' || m.machine_id AS evidence, sum(s.effective) AS at_stake, s.currency
FROM spent s JOIN machines m ON m.resource_id = s.resource_id
WHERE m.gpu_micros IS NULL AND m.cpu_millis IS NULL
GROUP BY m.machine_id, s.currency
