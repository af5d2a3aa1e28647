-- In: stored_placements, digest_attempts, digest_machines, digest_sites. Out: what was held, as the book keeps it, with the site of its machine, that of one job beside each other.
SELECT a.job, a."set", h.attempt_key, h.machine, h.unknown_machine, coalesce(m.site, 1) AS site, h.starts, h.ends, h.running, h.gpu_micros, h.billed_starts, h.billed_ends
FROM stored_placements h
JOIN digest_attempts a ON a.attempt_key = h.attempt_key
LEFT JOIN {{machine_sites}} m ON m.machine = h.machine
ORDER BY a.job, h.starts
