-- Select the kinds of charges that are for machine time, with the target within which each is shared.
-- In: routed_kinds, targets. Out: kinds with their time. Storage keeps costing while its machine is stopped, and a tax
-- or an adjustment is not tied to hours; charges without a more specific category count if they are for a machine.
SELECT k.kind, t.target, epoch_second(k.first_start) AS first_second, epoch_second(k.last_end) AS last_second,
  k.shortest, k.longest
FROM routed_kinds k JOIN targets t ON t.weighing = k.weighing AND t.scope = k.scope
WHERE k.longest > 0
  AND (k.category IN ('compute', 'platform')
    OR (t.machine IS NOT NULL AND k.category IN ('power', 'facility', 'other') AND k.charge_category <> 'Adjustment'))
