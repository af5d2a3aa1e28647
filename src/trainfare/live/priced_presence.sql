-- List for how long the price of each machine is wanted: from the second through which all of it is billed.
-- In: machines, billed_machines, charge_kinds. Out: one span per machine, as if it existed all the time. Machines whose
-- cost comes from a ledger are left out.
SELECT b.machine, b.services_through AS starts, CAST({{horizon}} AS BIGINT) AS ends
FROM billed_machines b JOIN machines m ON m.machine = b.machine
WHERE b.services_through < {{horizon}} AND m.resource NOT IN (
  SELECT lower(resource_id) FROM charge_kinds
  WHERE origin = 'hardware' AND resource_id IS NOT NULL AND month = {{month}})
