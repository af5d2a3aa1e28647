-- Find the time of each holding that the bill covers within the month.
-- In: placements, attempts, machines, billed_spans. Out: the holding's machine, and the first and last second for which
-- it can share in charges for machine time. Hours outside have no price yet, or none at all; with several spans, so may
-- hours between them.
SELECT holding, min(machine) AS machine, count(starts) AS spans, min(starts) AS first_second, max(ends) AS last_second
FROM (
  {{overlaps}}
)
GROUP BY holding
