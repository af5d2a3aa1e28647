-- In: placements, attempts, machines, billed_spans. Out: for each holding its machine, and from when to when within the month the bill has charges for the time of machines that it can share in. Hours outside of
-- that have no price yet, or none at all. With several spans there may be such hours between them, too.
SELECT holding, min(machine) AS machine, count(starts) AS spans, min(starts) AS first_second, max(ends) AS last_second
FROM (
  {{coverage}}
)
GROUP BY holding
