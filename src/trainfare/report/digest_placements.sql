-- In: kept_placements, digest_attempts. Out: what was held, as the book keeps it, that of one job beside each other.
SELECT a.job, a."set", h.attempt_key, h.machine, h.unknown_machine, h.starts, h.ends, h.running, h.gpu_micros, h.billed_starts, h.billed_ends
FROM kept_placements h
JOIN digest_attempts a ON a.attempt_key = h.attempt_key
ORDER BY a.job, h.starts
