-- Number every combination of pool, cluster, region and GPU model that machines have: a site.
-- In: book_machines. Out: the sites; the first is the one of which nothing is known.
SELECT CAST(row_number() OVER (ORDER BY {{places}}, has_gpus) AS INTEGER) AS site, *
FROM (
  SELECT {{site_keys}}, coalesce(gpus > 0, false) AS has_gpus FROM book_machines
  UNION
  SELECT {{no_site}}, false
)
