-- Cut what was held into days that are billed in full and others.
-- In: what was held, per currency; grain_incomplete.
-- Out: a day of an attempt is complete if all that the attempt held on it is billed. Wall time of other days is left
-- out of rates; GPU time counts as far as it is billed.
WITH partly AS (
  SELECT DISTINCT way, attempt_key FROM grain_incomplete
)
SELECT b.way, b.job, b."set", b.site, b.named, b.place, b.starts, b.ends, b.gpu_micros, b.billed_starts, b.billed_ends,
  true AS is_complete
FROM {{billed}} b LEFT JOIN partly y ON y.way = b.way AND y.attempt_key = b.attempt_key
WHERE y.attempt_key IS NULL
UNION ALL
SELECT d.way, d.job, d."set", d.site, d.named, d.place, greatest(d.starts, d.number * 86400),
  least(d.ends, d.number * 86400 + 86400), d.gpu_micros,
  CASE WHEN d.billed_starts < d.number * 86400 + 86400 AND d.billed_ends > d.number * 86400
    THEN greatest(d.billed_starts, d.number * 86400) END,
  CASE WHEN d.billed_starts < d.number * 86400 + 86400 AND d.billed_ends > d.number * 86400
    THEN least(d.billed_ends, d.number * 86400 + 86400) END,
  i.attempt_key IS NULL
FROM (
  SELECT b.*, unnest(range(b.starts // 86400, (b.ends + 86399) // 86400)) AS number
  FROM {{billed}} b JOIN partly y ON y.way = b.way AND y.attempt_key = b.attempt_key
) d
LEFT JOIN grain_incomplete i ON i.way = d.way AND i.attempt_key = d.attempt_key AND i.day = d.number
