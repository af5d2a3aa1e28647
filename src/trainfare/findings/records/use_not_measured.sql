-- Rules that split by a measurement, with their charges at times and in scopes without any. At stake: these charges.
SELECT 'rule ' || r.name AS evidence, sum(u.at_stake) AS at_stake, u.currency
FROM unmeasured_pots u JOIN rules_in_force r ON r.rule = u.rule GROUP BY r.name, u.currency
