-- List what was held, as the book stores it, with the numbers of job, labels, site and machine name.
-- In: stored_placements, grain_attempts, grain_machines, grain_machine_names.
-- Out: `place` is one number for the attempt and the machine.
SELECT a.job, h.attempt_key, a."set", coalesce(m.site, 1) AS site, h.machine, h.unknown_machine,
  coalesce(m.named, n.named, 0) AS named,
  CAST(h.attempt_key AS BIGINT) * 4294967296 + coalesce(h.machine + 1, 2147483648 + n.named, 0) AS place,
  h.starts, h.ends, h.running, h.gpu_micros, h.billed_starts, h.billed_ends
FROM stored_placements h
JOIN grain_attempts a ON a.attempt_key = h.attempt_key
LEFT JOIN grain_machines m ON m.machine = h.machine
LEFT JOIN grain_machine_names n ON n.machine_id = h.unknown_machine
