-- In: channels, rules_in_force, machines. Out: for each channel the names of its rule, of what the rule shares among and by, and of what was shared within.
SELECT ch.channel, ch.currency, r.name AS rule, r.among, coalesce(nullif(r."by", ''), 'gpu_seconds') AS weighed_by,
  coalesce(m.machine_id, ch.shown_scope) AS scope
FROM channels ch
JOIN rules_in_force r ON r.rule = ch.rule
LEFT JOIN machines m ON m.machine = ch.machine
