-- Read the names of machines in job logs and machine files in every form that people have for a resource.
-- In: placement_rows, machine_rows. Out: each written name, whether the job log has it, and its forms in order: as
-- written, without the scheme of a provider id (scheme://...), and its last part, with the two parts before it. A short
-- number is not a form: it numbers the members of a group.
WITH written AS (
  SELECT written, max(in_log) AS in_log
  FROM (
    SELECT DISTINCT lower(machine_id) AS written, 1 AS in_log FROM placement_rows
    UNION ALL SELECT lower(machine_id), 0 FROM machine_rows
    UNION ALL SELECT lower(resource_id), 0 FROM machine_rows
  )
  GROUP BY written
),
forms AS (
  SELECT written, in_log, written AS form, 0 AS preference FROM written
  UNION ALL
  SELECT written, in_log, regexp_replace(written, '^[a-z0-9+.-]+://', ''), 1 FROM written
  WHERE contains(written, '://')
  UNION ALL
  SELECT written, in_log, regexp_extract(written, '([^/:]+)$', 1), 2 FROM written
  WHERE regexp_matches(written, '[/:][^/:]+$')
)
SELECT written, in_log = 1 AS in_log, form, preference,
  CASE WHEN preference = 2 THEN nullif(regexp_extract(written, '([^/:]+)[/:][^/:]+$', 1), '') END AS parent,
  CASE WHEN preference = 2 THEN nullif(regexp_extract(written, '([^/:]+)[/:][^/:]+[/:][^/:]+$', 1), '') END
    AS grandparent
FROM forms
WHERE preference < 2 OR NOT regexp_matches(form, '^[0-9]{1,5}$')
