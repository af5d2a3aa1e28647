-- Charges with an empty period that match a rule which splits by held time. At stake: these charges.
-- Lines are read only for kinds that have any.
SELECT coalesce('resource ' || k.resource_id, 'service ' || k.service_name, 'charges')
    || coalesce(' in account ' || k.account, '') AS evidence,
  sum(c.effective) AS at_stake, k.currency
FROM routed_kinds k
JOIN rules_in_force r ON r.rule = k.rule
JOIN keyed_charges c ON c.kind = k.kind
WHERE k.weighing IS NOT NULL AND k.scope IS NOT NULL AND k.shortest = 0 AND r.among <> 'job'
  AND c.period_end = c.period_start
GROUP BY k.resource_id, k.service_name, k.account, k.currency
