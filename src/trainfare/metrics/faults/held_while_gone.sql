-- Placements that begin before or end after the time in which a listed machine existed.
SELECT 'job ' || p.job_id || ' on ' || p.machine_id || ' from ' || p.started AS evidence, CAST(NULL AS DECIMAL(38,12)) AS at_stake, CAST(NULL AS VARCHAR) AS currency
FROM placement_rows p
JOIN (SELECT lower(machine_id) AS name, min(existed_from) AS first, max(existed_to) AS last, bool_or(existed_from IS NULL) AS always, bool_or(existed_to IS NULL) AS still
  FROM machine_rows GROUP BY lower(machine_id)) m ON m.name = lower(p.machine_id)
WHERE (NOT m.always AND p.started < m.first) OR (NOT m.still AND coalesce(p.ended, p.started) > m.last)
