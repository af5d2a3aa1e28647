-- Compute the seconds that each machine existed in each hour of the month.
-- In: machines.
SELECT m.name, m.pool, m.gpus, h.hour, least(m.until, h.hour + 3600) - greatest(m.since, h.hour) AS seconds
FROM (
  SELECT *, range(greatest(since, {{start}}) // 3600 * 3600, least(until, {{end}}), 3600) AS hours FROM machines
) m, unnest(m.hours) AS h(hour)
