-- Charges of rules that share by time, and whose period is empty. At stake: these charges, where all of their kind are so.
SELECT coalesce('resource ' || k.resource_id, 'service ' || k.service_name, 'charges') || coalesce(' in account ' || k.account, '') AS evidence,
  sum(CASE WHEN k.longest = 0 THEN k.effective END) AS at_stake, k.currency
FROM routed_kinds k JOIN rules_in_force r ON r.rule = k.rule
WHERE k.weighing IS NOT NULL AND k.scope IS NOT NULL AND k.shortest = 0 AND r.among <> 'job'
GROUP BY k.resource_id, k.service_name, k.account, k.currency
