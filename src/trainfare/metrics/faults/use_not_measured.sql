-- Rules that took charges and ask for a measurement that no source delivers.
SELECT 'rule ' || r.name AS evidence, sum(k.effective) AS at_stake, k.currency
FROM routed_kinds k JOIN rules_in_force r ON r.rule = k.rule
WHERE r."by" IN ('bytes_sent', 'requests') GROUP BY r.name, k.currency
