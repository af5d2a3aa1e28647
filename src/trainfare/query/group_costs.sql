-- Sum the cost of payers of some kinds per group, or per job and group.
-- In: the selected shares, with labels and machines joined to them.
SELECT sum(s.{{basis}}) AS cost{{job}}{{share_keys}}
FROM (SELECT * FROM {{shares}} WHERE payer_kind IN ({{kinds}})) s{{share_joins}}
GROUP BY ALL
