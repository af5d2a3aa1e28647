-- List the shares of attempts that have days which are not billed in full, and decide in which figures each counts.
-- In: stored_shares, grain_attempts, grain_machines, grain_kinds, grain_incomplete, book_month.
-- Out: on such a day the cost of machine time counts in GPU rates, and of other cost, whose standing is null, the part
-- that the billed GPU time is of all GPU time held; nothing counts in wall rates, and none at all after the last hour
-- that is known of a running attempt.
WITH partly AS (
  SELECT DISTINCT attempt_key FROM grain_incomplete
)
SELECT a.job, a.attempt_key, a."set", coalesce(m.site, 1) AS site, coalesce(m.named, 0) AS named, s.machine, s.day,
  k.way_1, k.way_2, k.way_3, {{bases}}, i.held, i.billed AS billed_time, CASE WHEN k.is_foreign THEN 4 ELSE 0 END AS own,
  CASE
    WHEN NOT k.is_foreign AND (s.day < b.first_day OR s.day >= b.end_day) THEN 3
    WHEN (NOT k.is_foreign OR a.is_running) AND (a.last_day IS NULL OR s.day > a.last_day) THEN 2
    WHEN i.attempt_key IS NULL THEN 0
    WHEN i.billed_seconds = 0 THEN 2
    WHEN k.category IN ('compute', 'platform')
      OR (s.machine IS NOT NULL AND k.category IN ('power', 'facility', 'other')) THEN 1
    WHEN i.billed = 0 THEN 2
  END AS standing
FROM stored_shares s
JOIN partly y ON y.attempt_key = s.payer_key
JOIN grain_attempts a ON a.attempt_key = s.payer_key
JOIN grain_kinds k ON k.share_kind = s.share_kind
CROSS JOIN book_month b
LEFT JOIN grain_machines m ON m.machine = s.machine
LEFT JOIN grain_incomplete i ON i.attempt_key = s.payer_key AND i.day = s.day AND i.currency = k.currency
