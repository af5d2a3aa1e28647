-- In: machines, placements, charge_kinds. Out: when each machine was there in the time no bill speaks of yet, from {{from_second}} up to {{to_second}}: while the machine file says that it
-- exists, or somebody held it. Machines whose cost a ledger knows are left out.
WITH spans AS (
  SELECT machine, greatest(existed_from, {{from_second}}) AS starts, least(existed_to, {{to_second}}) AS ends FROM machines WHERE listed
  UNION ALL
  SELECT machine, greatest(starts, {{from_second}}), least(ends, {{to_second}}) FROM placements WHERE machine IS NOT NULL
),
marked AS (
  SELECT s.*, max(s.ends) OVER (PARTITION BY s.machine ORDER BY s.starts, s.ends ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
  FROM spans s
  JOIN machines m ON m.machine = s.machine
  WHERE s.ends > s.starts AND m.resource NOT IN (
    SELECT lower(resource_id) FROM charge_kinds WHERE origin = 'hardware' AND resource_id IS NOT NULL AND month = {{month}})
)
SELECT machine, greatest(starts, coalesce(before, starts)) AS starts, ends FROM marked WHERE before IS NULL OR ends > before
