-- Placements in the month that continue after the end of the bill, on machines without another known cost.
SELECT 'job ' || job_id || ' on ' || machine_id AS evidence,
  CAST(NULL AS DECIMAL(38,12)) AS at_stake, CAST(NULL AS VARCHAR) AS currency
FROM book_placements
WHERE ends > {{complete_through}} AND NOT running AND coalesce(billed_ends, 0) < ends
GROUP BY job_id, machine_id
