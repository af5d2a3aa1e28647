-- Charges that name a job which is not in the job log. At stake: these charges.
SELECT 'job ' || c.shown_scope AS evidence, sum(d.effective) AS at_stake, c.currency
FROM direct_parts d JOIN routes c ON c.route = d.route JOIN rules_in_force r ON r.rule = c.rule
WHERE r.among = 'job' AND d.payer_day // 65536 = 2147483646
GROUP BY c.shown_scope, c.currency
