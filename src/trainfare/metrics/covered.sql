-- In: targets, placements, attempts, machines. Out: for each holding the time for which the bill has compute charges that it can share in. Hours outside of
-- it have no price yet, or none at all.
SELECT holding, min(first_second) AS first_second, max(last_second) AS last_second
FROM (
  {{coverage}}
)
GROUP BY holding
