-- Match the written names of machines to the resources on the bill.
-- In: written_names, resource_names. Out: each written name with the resources that match it; a lower preference counts
-- first, and so does a lower kind of name: 2 for the id or its end, 3 for the name, 4 for the tag. A name as written is
-- preferred; of last parts, the one where the parts before it are in the resource's id too, such as a project and a zone.
-- Several resources can have the same name: an instance and its disk, or a replacement.
SELECT w.written, w.in_log, r.resource, min(greatest(r.preference, 2)) AS kind, min(10 * w.preference + r.preference
  - CASE WHEN contains(r.resource, '/' || w.parent || '/') THEN 4 ELSE 0 END
  - CASE WHEN contains(r.resource, '/' || w.grandparent || '/') THEN 4 ELSE 0 END) AS preference
FROM written_names w JOIN resource_names r ON r.name = w.form
GROUP BY w.written, w.in_log, r.resource
