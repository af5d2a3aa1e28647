-- Find the instance type of machines that only the description or the SKU of a charge names.
-- In: keyed_charges, charge_kinds, instance_types. Out: instance type per kind of charge. Only the distinct texts of
-- kinds without a type are searched, for a known type first: it may be written with blanks for underscores and without
-- a leading 'standard'. Of several known types the longest name counts, and of several others the last in order, so
-- that row order does not matter.
WITH texts AS (
  SELECT kind, text, ' ' || regexp_replace(text, '[^a-z0-9.-]+', ' ', 'g') || ' ' AS words
  FROM (
    SELECT DISTINCT c.kind, lower(coalesce(c.description, '') || ' ' || coalesce(c.sku_id, '')) AS text
    FROM keyed_charges c
    JOIN charge_kinds k ON k.kind = c.kind
    WHERE k.instance_type IS NULL AND k.category = 'compute' AND k.resource_id IS NOT NULL
  )
),
names AS (
  SELECT instance_type, regexp_replace(replace(instance_type, '_', ' '), '^standard ', '') AS name FROM instance_types
),
found AS (
  SELECT d.words, n.instance_type, length(n.name) AS length
  FROM (SELECT DISTINCT words FROM texts) d JOIN names n ON contains(d.words, ' ' || n.name || ' ')
),
known AS (
  SELECT t.kind, f.instance_type FROM texts t JOIN found f ON f.words = t.words
  QUALIFY row_number() OVER (PARTITION BY t.kind ORDER BY f.length DESC, f.instance_type) = 1
),
other AS (
  SELECT kind, max(instance_type) AS instance_type
  FROM (
    SELECT kind,
      nullif(regexp_extract(text, '\b([a-z][a-z0-9-]*\.(?:[0-9]*xlarge|metal)|standard_n[cdgv][a-z0-9_]+)\b', 1), '')
        AS instance_type
    FROM texts
  )
  WHERE instance_type IS NOT NULL
  GROUP BY kind
)
SELECT coalesce(k.kind, o.kind) AS kind, coalesce(k.instance_type, o.instance_type) AS instance_type
FROM known k FULL JOIN other o ON o.kind = k.kind
