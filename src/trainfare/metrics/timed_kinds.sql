-- In: routed_kinds, targets. Out: the kinds of charges that are for the time of machines, with what each is shared within. A disk goes on costing where its machine was stopped, and a tax or an adjustment says
-- nothing of hours; what nobody has a better name for counts if it is for a machine.
SELECT k.kind, t.target, epoch_second(k.first_start) AS first_second, epoch_second(k.last_end) AS last_second, k.shortest, k.longest
FROM routed_kinds k JOIN targets t ON t.weighing = k.weighing AND t.scope = k.scope
WHERE k.longest > 0
  AND (k.category IN ('compute', 'platform')
    OR (t.machine IS NOT NULL AND k.category IN ('power', 'facility', 'other') AND k.charge_category <> 'Adjustment'))
