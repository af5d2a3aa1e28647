-- List the shares with the numbers of job, labels, site and machine name; a way says in which figures a share counts.
-- In: stored_shares, grain_attempts, grain_payers, grain_machines, grain_kinds, grain_incomplete, grain_marked,
-- book_month. Out: cost that no job pays has a payer instead; a share that counts in part becomes two.
WITH months AS (
  SELECT k.share_kind, k.way_1, k.way_2, k.way_3, CASE WHEN k.is_foreign THEN 4 ELSE 0 END AS own,
    CASE WHEN k.is_foreign THEN -2147483648 ELSE b.first_day END AS first_day,
    CASE WHEN k.is_foreign THEN 2147483647 ELSE b.end_day END AS end_day, k.is_foreign
  FROM grain_kinds k CROSS JOIN book_month b
),
complete AS (
  SELECT a.* FROM grain_attempts a ANTI JOIN grain_incomplete i ON i.attempt_key = a.attempt_key
),
counted AS (
  SELECT a.job, a.attempt_key, a."set", coalesce(m.site, 1) AS site, coalesce(m.named, 0) AS named, s.machine, s.day,
    k.way_1, k.way_2, k.way_3, CAST(NULL AS INTEGER) AS payer_number, {{bases}},
    k.own + CASE
      WHEN s.day < k.first_day OR s.day >= k.end_day THEN 3
      WHEN (NOT k.is_foreign OR a.is_running) AND (a.last_day IS NULL OR s.day > a.last_day) THEN 2
      ELSE 0
    END AS standing
  FROM stored_shares s
  JOIN months k ON k.share_kind = s.share_kind
  JOIN complete a ON a.attempt_key = s.payer_key
  LEFT JOIN grain_machines m ON m.machine = s.machine
  UNION ALL
  SELECT NULL, NULL, NULL, coalesce(m.site, 1), coalesce(m.named, 0), s.machine, s.day, k.way_1, k.way_2, k.way_3,
    s.payer_key, {{bases}}, k.own + CASE WHEN s.day < k.first_day OR s.day >= k.end_day THEN 3 ELSE 0 END
  FROM stored_shares s
  JOIN months k ON k.share_kind = s.share_kind
  JOIN grain_payers p ON p.payer_number = s.payer_key
  LEFT JOIN grain_machines m ON m.machine = s.machine
  UNION ALL
  SELECT job, attempt_key, "set", site, named, machine, day, way_1, way_2, way_3, NULL, {{basis_names}}, own + standing
  FROM grain_marked WHERE standing IS NOT NULL
  UNION ALL
  SELECT job, attempt_key, "set", site, named, machine, day, way_1, way_2, way_3, NULL, {{billed_parts}}, own + 1
  FROM grain_marked s WHERE standing IS NULL
  UNION ALL
  SELECT job, attempt_key, "set", site, named, machine, day, way_1, way_2, way_3, NULL, {{unbilled_parts}}, own + 2
  FROM grain_marked s WHERE standing IS NULL
)
SELECT job, attempt_key, "set", site, named, machine, DATE '1970-01-01' + day AS day,
  CAST(way_1 * 8 + standing AS INTEGER) AS way, CAST(way_2 * 8 + standing AS INTEGER) AS way_2,
  CAST(way_3 * 8 + standing AS INTEGER) AS way_3, payer_number, {{basis_names}}
FROM counted
