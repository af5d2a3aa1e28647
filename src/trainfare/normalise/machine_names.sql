-- In: resources, listed_machines (the machine file), placement_rows (the job log). Out: which name stands for which
-- resource, and when. The machine file is believed; a name it does not have is looked for on the bill as a
-- resource id, as the last part of one, as a resource name and as a Name tag, in that order.
WITH listed AS (
  SELECT DISTINCT lower(machine_id) AS name, resource,
    coalesce(epoch_second(existed_from), -9000000000) AS existed_from,
    coalesce(epoch_second(existed_to), 253402300800) AS existed_to
  FROM listed_machines
),
asked AS (
  SELECT DISTINCT lower(machine_id) AS name FROM placement_rows
  EXCEPT
  SELECT name FROM listed
),
known_by AS (
  SELECT resource, resource AS name, 1 AS place FROM resources
  UNION ALL SELECT resource, short_name, 2 FROM resources
  UNION ALL SELECT resource, full_name, 3 FROM resources
  UNION ALL SELECT resource, tag_name, 4 FROM resources
),
found AS (
  SELECT k.resource, k.name, k.place
  FROM known_by k JOIN asked a ON a.name = k.name
  WHERE k.resource NOT IN (SELECT resource FROM listed)
),
best AS (
  SELECT resource, name, place FROM found
  QUALIFY place = min(place) OVER (PARTITION BY name)
    AND row_number() OVER (PARTITION BY resource ORDER BY place, name) = 1
)
SELECT name, resource, existed_from, existed_to FROM listed
UNION ALL
SELECT b.name, b.resource, epoch_second(min(k.first_start)), {{known_to}}
FROM best b JOIN charge_kinds k ON lower(k.resource_id) = b.resource AND k.month IN ({{months}})
GROUP BY b.name, b.resource
