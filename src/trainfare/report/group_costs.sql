-- In: the shares asked about, labels and machines joined to them. Out: what payers of these kinds pay per group, or per job and group.
SELECT sum(s.{{basis}}) AS cost{{job}}{{share_keys}}
FROM (SELECT * FROM {{shares}} WHERE payer_kind IN ({{kinds}})) s{{share_joins}}
GROUP BY ALL
