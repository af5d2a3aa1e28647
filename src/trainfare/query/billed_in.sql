-- Mark the hours of placements as billed only if they are billed in the question's currency.
-- In: placements, shares.
-- Out: the placements; their hours are billed if the machine is on a bill in that currency, or if the attempt pays
-- compute cost in it that no single machine has. Hours that are paid in another currency have no price in this one.
SELECT p.* REPLACE (
  CASE WHEN m.resource_id IS NOT NULL OR a.job_id IS NOT NULL THEN p.billed_starts END AS billed_starts,
  CASE WHEN m.resource_id IS NOT NULL OR a.job_id IS NOT NULL THEN p.billed_ends END AS billed_ends)
FROM {{placements}} p
LEFT JOIN (
  SELECT DISTINCT resource_id FROM shares WHERE currency = {{currency}} AND resource_id IS NOT NULL
) m ON m.resource_id = p.resource_id
LEFT JOIN (
  SELECT DISTINCT job_id, attempt FROM shares
  WHERE currency = {{currency}} AND resource_id IS NULL AND job_id IS NOT NULL AND category IN ('compute', 'platform')
) a ON a.job_id = p.job_id AND a.attempt = p.attempt
