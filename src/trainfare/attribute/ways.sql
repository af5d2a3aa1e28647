-- In: channels, categories, rules_in_force. Out: everything a share says beside its payer, machine and day, numbered.
SELECT CAST(c.channel * 32 + g.number AS INTEGER) AS way, r.name AS rule, g.category, c.source, c.origin, c.account, c.currency, c.converted_from
FROM channels c
JOIN rules_in_force r ON r.rule = c.rule
JOIN (SELECT DISTINCT channel, category FROM keyed_kinds) k ON k.channel = c.channel
JOIN categories g ON g.number = k.category
