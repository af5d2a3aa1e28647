-- List the resources on the month's bill, with the names a job log may use for them and their size.
-- In: charge_kinds, instance_types. Out: one row per resource; the size comes from its instance type, or the number of
-- GPUs from the bill itself.
SELECT lower(k.resource_id) AS resource,
  min(k.resource_id) AS resource_id,
  regexp_extract(lower(min(k.resource_id)), '([^/:]+)$', 1) AS short_name,
  lower(min(k.resource_name)) AS full_name,
  lower(min(CASE WHEN json_valid(k.tags) THEN json_extract_string(k.tags, '$.Name') END)) AS tag_name,
  min(k.region) AS region,
  min(k.account) AS account,
  min(t.instance_type) AS instance_type,
  coalesce(min(t.gpus), max(k.gpu_count)) AS gpus,
  min(t.gpu_model) AS gpu_model,
  min(t.cpus) AS cpus,
  min(t.memory_gb) AS memory_gb
FROM charge_kinds k
LEFT JOIN instance_types t ON t.instance_type = k.instance_type
WHERE k.resource_id IS NOT NULL AND k.month IN ({{months}})
GROUP BY lower(k.resource_id)
