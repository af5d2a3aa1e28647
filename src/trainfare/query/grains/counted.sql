-- List the shares, each with the figures in which it counts; one that counts in part becomes two.
-- In: grain_marked.
WITH counted AS (
  SELECT * EXCLUDE (is_incomplete, held, billed_time, own, standing), own + standing AS standing
  FROM grain_marked WHERE standing IS NOT NULL
  UNION ALL
  SELECT * EXCLUDE (is_incomplete, held, billed_time, own, standing) REPLACE ({{billed_parts}}), own + 1
  FROM grain_marked s WHERE is_incomplete AND standing IS NULL
  UNION ALL
  SELECT * EXCLUDE (is_incomplete, held, billed_time, own, standing) REPLACE ({{unbilled_parts}}), own + 2
  FROM grain_marked s WHERE is_incomplete AND standing IS NULL
)
SELECT job, attempt_key, "set", site, named, machine, DATE '1970-01-01' + day AS day,
  CAST(way_1 * 8 + standing AS INTEGER) AS way, CAST(way_2 * 8 + standing AS INTEGER) AS way_2,
  CAST(way_3 * 8 + standing AS INTEGER) AS way_3, payer_number, {{basis_names}}
FROM counted
