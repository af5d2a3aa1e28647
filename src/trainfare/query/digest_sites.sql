-- In: digest_machines. Out: every pool, cluster, region and kind of GPU that machines have together, numbered: a site. The first is where none of these is known.
SELECT CAST(row_number() OVER (ORDER BY {{places}}) AS INTEGER) AS site, *
FROM (SELECT {{site_keys}} FROM digest_machines UNION SELECT {{no_site}})
