-- In: paid_days, work_seconds. Out: the money of attempts that was lost or overhead, cut in time: per attempt, day and category. What remains was kept, and takes what does not divide; where nothing was kept,
-- the lost part takes it. Money of a day on which the attempt did not run is cut as its whole time.
WITH weighed AS (
  SELECT p.*, d.whole, d.lost, d.overhead, d.bounded
  FROM paid_days p JOIN work_seconds d ON d.attempt_key = p.attempt_key AND d.day = p.day
  UNION ALL
  SELECT p.*, t.whole, t.lost, t.overhead, t.bounded
  FROM paid_days p
  JOIN (
    SELECT attempt_key, CAST(sum(whole) AS BIGINT) AS whole, CAST(sum(lost) AS BIGINT) AS lost, CAST(sum(overhead) AS BIGINT) AS overhead, bool_or(bounded) AS bounded
    FROM work_seconds GROUP BY attempt_key
  ) t ON t.attempt_key = p.attempt_key
  WHERE NOT EXISTS (SELECT 1 FROM work_seconds d WHERE d.attempt_key = p.attempt_key AND d.day = p.day)
),
parts AS (
  SELECT attempt_key, day, category, currency, bounded, 'lost' AS part,
    whole_part(effective, lost, whole) AS effective, whole_part(billed, lost, whole) AS billed,
    whole_part(list, lost, whole) AS list, whole_part(contracted, lost, whole) AS contracted
  FROM weighed WHERE lost > 0 AND lost + overhead < whole
  UNION ALL
  SELECT attempt_key, day, category, currency, bounded, 'lost' AS part,
    effective - whole_part(effective, overhead, whole) AS effective, billed - whole_part(billed, overhead, whole) AS billed,
    list - whole_part(list, overhead, whole) AS list, contracted - whole_part(contracted, overhead, whole) AS contracted
  FROM weighed WHERE lost > 0 AND lost + overhead = whole
  UNION ALL
  SELECT attempt_key, day, category, currency, bounded, 'overhead' AS part,
    whole_part(effective, overhead, whole) AS effective, whole_part(billed, overhead, whole) AS billed,
    whole_part(list, overhead, whole) AS list, whole_part(contracted, overhead, whole) AS contracted
  FROM weighed WHERE overhead > 0
)
SELECT attempt_key, day, category, currency, part, CASE WHEN bounded THEN 'at most' ELSE 'measured' END AS how,
  as_money(effective) AS effective, as_money(billed) AS billed, as_money(list) AS list, as_money(contracted) AS contracted
FROM parts
