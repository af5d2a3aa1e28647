-- In: keyed_charges, charge_kinds. Out: for machines whose instance type no column tells, the one that a description of theirs names. Looked for only among the
-- distinct descriptions of such kinds; of several the last in order is taken, so that row order means nothing.
SELECT kind, max(instance_type) AS instance_type
FROM (
  SELECT kind, coalesce(
    nullif(regexp_extract(told, '\b([a-z][a-z0-9-]*\.(?:[0-9]*xlarge|metal))\b', 1), ''),
    nullif(regexp_extract(told, '\b(standard_n[cdv][a-z0-9_]+|a[234]-[a-z]+gpu-[0-9]+g|g2-standard-[0-9]+|[bv]m\.gpu[a-z0-9.-]+)\b', 1), '')
  ) AS instance_type
  FROM (
    SELECT DISTINCT c.kind, lower(c.description) AS told
    FROM keyed_charges c
    JOIN charge_kinds k ON k.kind = c.kind
    WHERE k.instance_type IS NULL AND k.category = 'compute' AND k.resource_id IS NOT NULL
  )
)
WHERE instance_type IS NOT NULL
GROUP BY kind
