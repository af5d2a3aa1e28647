-- In: machine_rows, resources. Out: the machine file with the resource each row stands for. A row that gives no resource id the bill knows is looked for by its machine id:
-- as the last part of a resource id, as a resource name and as a Name tag, in that order. It stands for every resource of that name, as it would without a file: an instance and its
-- disk, or the one that came in its place.
WITH known_by AS (
  SELECT resource, short_name AS name, 2 AS place FROM resources
  UNION ALL SELECT resource, full_name, 3 FROM resources
  UNION ALL SELECT resource, tag_name, 4 FROM resources
),
found AS (
  SELECT name, resource FROM known_by
  WHERE name IS NOT NULL
  QUALIFY place = min(place) OVER (PARTITION BY name)
)
SELECT r.* EXCLUDE (resource_id),
  CASE WHEN f.resource IS NULL THEN lower(r.resource_id) ELSE f.resource END AS resource,
  CASE WHEN f.resource IS NULL THEN r.resource_id ELSE b.resource_id END AS resource_id
FROM machine_rows r
LEFT JOIN resources k ON k.resource = lower(r.resource_id)
LEFT JOIN found f ON f.name = lower(r.machine_id) AND lower(r.resource_id) = lower(r.machine_id) AND k.resource IS NULL
LEFT JOIN resources b ON b.resource = f.resource
