-- List the shares as the book stores them, with the numbers of job, labels and site, job by job.
-- In: stored_shares, grain_attempts, grain_machines, grain_kinds, grain_incomplete, book_month.
-- Out: cost that no job pays comes last. On a day of an attempt that is not billed in full, the cost of machine time
-- counts in GPU rates, and of other cost the part that the billed GPU time is of all GPU time held; nothing counts in
-- wall rates, and none at all after the last hour that is known of a running attempt.
WITH marked AS (
  SELECT a.job, a.attempt_key, a."set", coalesce(m.site, 1) AS site, s.machine, s.day, k.way_1, k.way_2, k.way_3,
    CASE WHEN a.job IS NULL THEN s.payer_key END AS payer_number, {{bases}}, i.held, i.billed AS billed_time,
    CASE WHEN k.is_foreign THEN 4 ELSE 0 END AS own,
    CASE
      WHEN NOT k.is_foreign AND (s.day < b.first_day OR s.day >= b.end_day) THEN 3
      WHEN a.job IS NULL THEN 0
      WHEN (NOT k.is_foreign OR a.is_running) AND (a.last_day IS NULL OR s.day > a.last_day) THEN 2
      WHEN i.attempt_key IS NULL THEN 0
      WHEN i.billed_seconds = 0 THEN 2
      WHEN k.category IN ('compute', 'platform')
        OR (s.machine IS NOT NULL AND k.category IN ('power', 'facility', 'other')) THEN 1
      WHEN i.billed = 0 THEN 2
    END AS standing
  FROM stored_shares s
  JOIN grain_kinds k ON k.share_kind = s.share_kind
  CROSS JOIN book_month b
  LEFT JOIN grain_attempts a ON a.attempt_key = s.payer_key
  LEFT JOIN grain_machines m ON m.machine = s.machine
  LEFT JOIN grain_incomplete i ON i.attempt_key = s.payer_key AND i.day = s.day AND i.currency = k.currency
),
counted AS (
  SELECT * EXCLUDE (held, billed_time, own, standing), own + standing AS standing
  FROM marked WHERE standing IS NOT NULL
  UNION ALL
  SELECT * EXCLUDE (held, billed_time, own, standing) REPLACE ({{billed_parts}}), own + 1
  FROM marked s WHERE standing IS NULL
  UNION ALL
  SELECT * EXCLUDE (held, billed_time, own, standing) REPLACE ({{unbilled_parts}}), own + 2
  FROM marked s WHERE standing IS NULL
)
SELECT job, attempt_key, "set", site, machine, DATE '1970-01-01' + day AS day,
  CAST(way_1 * 8 + standing AS INTEGER) AS way, CAST(way_2 * 8 + standing AS INTEGER) AS way_2,
  CAST(way_3 * 8 + standing AS INTEGER) AS way_3, payer_number, {{basis_names}}
FROM counted
ORDER BY job NULLS LAST
