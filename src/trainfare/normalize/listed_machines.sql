-- Match each row of the machine file to the resource it describes.
-- In: machine_rows, resources, matched_names. Out: the rows with their resource. A row is matched by its resource id in
-- any form; one without a resource id, by its machine id. It describes every resource of that name, as it would without
-- a file: an instance and its disk, or a replacement. A row that matches nothing on the bill keeps its own id.
WITH best AS (
  SELECT written, resource FROM matched_names
  QUALIFY preference = min(preference) OVER (PARTITION BY written)
)
SELECT r.* EXCLUDE (resource_id),
  coalesce(m.resource, lower(r.resource_id)) AS resource,
  coalesce(b.resource_id, r.resource_id) AS resource_id
FROM machine_rows r
LEFT JOIN best m ON m.written = lower(r.resource_id)
LEFT JOIN resources b ON b.resource = m.resource
