-- Compute what each attempt held of each machine in each hour of the month, in GPU seconds.
-- In: attempts, placements.
SELECT a.number, a.job_id, a.attempt, p.machine, a.pool, h.hour,
  a.gpus * (least(a.ended, h.hour + 3600, {{end}}) - greatest(a.started, h.hour, {{start}})) AS gpu_seconds
FROM (
  SELECT *, range(greatest(started, {{start}}) // 3600 * 3600, least(ended, {{end}}), 3600) AS hours FROM attempts
) a JOIN placements p ON p.number = a.number, unnest(a.hours) AS h(hour)
