-- Find when each machine existed in the time for which the bill does not cover all of its services yet.
-- In: machines, billed_machines, placements, charge_kinds. Out: disjoint spans per machine, while the machine file lists
-- it as existing or an attempt held it. Machines whose cost comes from a ledger are left out.
WITH spans AS (
  SELECT machine, existed_from AS starts, existed_to AS ends FROM machines WHERE listed
  UNION ALL
  SELECT machine, starts, ends FROM placements WHERE machine IS NOT NULL
),
unbilled AS (
  SELECT s.machine, greatest(s.starts, b.services_through) AS starts, least(s.ends, {{to_second}}) AS ends
  FROM spans s
  JOIN machines m ON m.machine = s.machine
  JOIN billed_machines b ON b.machine = s.machine
  WHERE m.resource NOT IN (
    SELECT lower(resource_id) FROM charge_kinds
    WHERE origin = 'hardware' AND resource_id IS NOT NULL AND month = {{month}})
),
ordered AS (
  SELECT *, max(ends) OVER (
      PARTITION BY machine ORDER BY starts, ends ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ) AS previous_end
  FROM unbilled WHERE ends > starts
)
SELECT machine, greatest(starts, coalesce(previous_end, starts)) AS starts, ends
FROM ordered WHERE previous_end IS NULL OR ends > previous_end
