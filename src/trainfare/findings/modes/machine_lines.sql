-- List the bill lines of machines that several sources charge for, without the copies of exported days.
-- In: keyed_charges, routed_kinds, repeated_days. Out: one row per line with time, in whole seconds.
WITH charged AS (
  SELECT kind, machine, source, currency FROM routed_kinds WHERE {{charged}}
)
SELECT k.machine, k.source, k.currency, c.delivery, c.line, epoch_second(c.period_start) AS starts,
  epoch_second(c.period_end) AS ends, c.effective
FROM keyed_charges c
JOIN charged k ON k.kind = c.kind
JOIN (SELECT machine FROM charged GROUP BY machine HAVING count(DISTINCT source) > 1) m ON m.machine = k.machine
LEFT JOIN repeated_days r ON r.delivery = c.delivery AND r.account IS NOT DISTINCT FROM c.account
  AND r.currency = c.currency AND r.day = CAST(c.period_start AS DATE) AND r.first_delivery < r.delivery
WHERE c.period_end > c.period_start AND r.delivery IS NULL
