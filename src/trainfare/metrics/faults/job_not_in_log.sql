-- Charges that name a job nobody knows.
SELECT 'job ' || c.shown_scope AS evidence, sum(d.effective) AS at_stake, c.currency
FROM direct_parts d JOIN channels c ON c.channel = d.channel JOIN rules_in_force r ON r.rule = c.rule
WHERE r.among = 'job' AND d.piece // 65536 = 2147483646
GROUP BY c.shown_scope, c.currency
