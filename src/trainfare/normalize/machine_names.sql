-- Resolve machine names to resources, with the time for which each name is valid.
-- In: listed_machines (the machine file), written_names, matched_names, charge_kinds. Out: name, resource and time. The
-- machine file takes precedence, also where the job log has a machine's name at the end of a longer one; any other name
-- is matched on the bill. A resource can have several names of one kind, its id in several forms.
WITH listed AS (
  SELECT DISTINCT lower(machine_id) AS name, resource,
    coalesce(epoch_second(existed_from), -9000000000) AS existed_from,
    coalesce(epoch_second(existed_to), 253402300800) AS existed_to
  FROM listed_machines
),
longer AS (
  SELECT w.written AS name, l.resource, l.existed_from, l.existed_to
  FROM written_names w JOIN listed l ON l.name = w.form
  WHERE w.in_log AND w.preference = 2 AND w.written NOT IN (SELECT name FROM listed)
),
matches AS (
  SELECT resource, written AS name, preference, kind
  FROM matched_names
  WHERE in_log AND written NOT IN (SELECT name FROM listed) AND written NOT IN (SELECT name FROM longer)
    AND resource NOT IN (SELECT resource FROM listed)
),
best AS (
  SELECT resource, name FROM matches
  QUALIFY preference = min(preference) OVER (PARTITION BY name)
    AND kind = min(kind) OVER (PARTITION BY resource)
)
SELECT name, resource, existed_from, existed_to FROM listed
UNION ALL
SELECT name, resource, existed_from, existed_to FROM longer
UNION ALL
SELECT b.name, b.resource, epoch_second(min(k.first_start)), {{known_to}}
FROM best b JOIN charge_kinds k ON lower(k.resource_id) = b.resource AND k.month IN ({{months}})
GROUP BY b.name, b.resource
