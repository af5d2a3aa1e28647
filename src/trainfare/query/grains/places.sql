-- List every machine that an attempt held or paid for: a place.
-- In: grain_placed, grain_counted.
WITH named AS (
  SELECT place, attempt_key, "set", site, machine, unknown_machine FROM grain_placed
  UNION ALL
  SELECT CAST(attempt_key AS BIGINT) * 4294967296 + coalesce(machine + 1, 0), attempt_key, "set", site, machine, NULL
  FROM grain_counted WHERE job IS NOT NULL
)
SELECT place, any_value(attempt_key) AS attempt_key, any_value("set") AS "set", any_value(site) AS site,
  any_value(machine) AS machine, any_value(unknown_machine) AS unknown_machine
FROM named GROUP BY place
