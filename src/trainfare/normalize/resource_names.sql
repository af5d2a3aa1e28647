-- List the names of each resource on the bill: its id, the last part of it, its name and its Name tag, in that order.
-- In: resources. Out: resource, name and preference; a lower preference counts first.
SELECT resource, resource AS name, 1 AS preference FROM resources
UNION ALL SELECT resource, short_name, 2 FROM resources WHERE short_name <> resource
UNION ALL SELECT resource, full_name, 3 FROM resources WHERE full_name IS NOT NULL
UNION ALL SELECT resource, tag_name, 4 FROM resources WHERE tag_name IS NOT NULL
