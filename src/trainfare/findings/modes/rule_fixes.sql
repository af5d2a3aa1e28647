-- List the services and accounts with the most unallocated cost, and whether jobs ran in the account. Cost that mapped
-- tags would allocate is left out.
-- In: routed_kinds, rules_in_force, machines, placements.
SELECT k.service_name AS service, k.account, k.currency, sum(k.effective) AS fixed,
  bool_or(j.account IS NOT NULL) AS has_jobs
FROM routed_kinds k
JOIN rules_in_force r ON r.rule = k.rule
LEFT JOIN (
  SELECT DISTINCT m.account FROM placements p JOIN machines m ON m.machine = p.machine
) j ON j.account = k.account
WHERE r.goes_to = '__unallocated__' AND k.effective > 0 AND k.service_name IS NOT NULL AND NOT {{is_labeled}}
GROUP BY k.service_name, k.account, k.currency
ORDER BY fixed DESC, k.service_name, k.account
LIMIT 5
