-- Machines whose charges went to nobody but idle.
SELECT 'machine ' || machine_id AS evidence, sum(effective) AS at_stake, currency
FROM shares
WHERE machine_id IS NOT NULL
GROUP BY machine_id, resource_id, currency
HAVING count(*) FILTER (payer_kind = 'attempt') = 0
