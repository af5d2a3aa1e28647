-- Rules that share by a measurement, with what they took in times and places of which nothing was measured.
SELECT 'rule ' || r.name AS evidence, sum(u.at_stake) AS at_stake, u.currency
FROM unmeasured_pots u JOIN rules_in_force r ON r.rule = u.rule GROUP BY r.name, u.currency
