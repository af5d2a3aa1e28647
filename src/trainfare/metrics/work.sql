-- In: shares, work_seconds, work_spans, tries. Out: the money of attempts that lost time or had overhead, cut in time: per attempt, day and category what was kept, lost and overhead. The part with most
-- seconds gets the money and hands on the whole parts of the others, so they add up to the shares exactly. Money of a day on which the attempt did not run is cut as its whole time.
WITH hows AS (
  SELECT t.job_id, t.attempt, max(w.how) AS how
  FROM work_spans w JOIN tries t ON t.attempt_key = w.attempt_key GROUP BY t.job_id, t.attempt
),
spent AS (
  SELECT s.job_id, s.attempt, s.day, s.category, s.currency, h.how,
    CAST(sum(s.effective) AS DECIMAL(38,12)) AS effective, CAST(sum(s.billed) AS DECIMAL(38,12)) AS billed,
    CAST(sum(s.list) AS DECIMAL(38,12)) AS list, CAST(sum(s.contracted) AS DECIMAL(38,12)) AS contracted
  FROM shares s JOIN hows h ON h.job_id = s.job_id AND h.attempt = s.attempt
  GROUP BY s.job_id, s.attempt, s.day, s.category, s.currency, h.how
),
weighed AS (
  SELECT p.job_id, p.attempt, p.day, p.category, p.currency, p.how,
    in_units(p.effective) AS effective, in_units(p.billed) AS billed, in_units(p.list) AS list, in_units(p.contracted) AS contracted,
    coalesce(d.whole, t.whole) AS whole, coalesce(d.kept, t.kept) AS kept, coalesce(d.lost, t.lost) AS lost, coalesce(d.overhead, t.overhead) AS overhead
  FROM spent p
  JOIN work_seconds t ON t.job_id = p.job_id AND t.attempt = p.attempt AND t.day IS NULL
  LEFT JOIN work_seconds d ON d.job_id = p.job_id AND d.attempt = p.attempt AND d.day = p.day
),
parts AS (
  SELECT *, 'kept' AS part, kept AS weight, kept >= lost AND kept >= overhead AS is_heaviest FROM weighed
  UNION ALL
  SELECT *, 'lost', lost, lost > kept AND lost >= overhead FROM weighed
  UNION ALL
  SELECT *, 'overhead', overhead, overhead > kept AND overhead > lost FROM weighed
),
handed AS (
  SELECT job_id, attempt, day, category, currency, how, part, weight, is_heaviest, effective, billed, list, contracted,
    CASE WHEN is_heaviest THEN 0 ELSE whole_part(effective, weight, whole) END AS effective_part,
    CASE WHEN is_heaviest THEN 0 ELSE whole_part(billed, weight, whole) END AS billed_part,
    CASE WHEN is_heaviest THEN 0 ELSE whole_part(list, weight, whole) END AS list_part,
    CASE WHEN is_heaviest THEN 0 ELSE whole_part(contracted, weight, whole) END AS contracted_part
  FROM parts WHERE weight > 0
)
SELECT job_id, attempt, day, category, currency, part, how,
  as_money(CASE WHEN is_heaviest THEN effective - sum(effective_part) OVER pot ELSE effective_part END) AS effective,
  as_money(CASE WHEN is_heaviest THEN billed - sum(billed_part) OVER pot ELSE billed_part END) AS billed,
  as_money(CASE WHEN is_heaviest THEN list - sum(list_part) OVER pot ELSE list_part END) AS list,
  as_money(CASE WHEN is_heaviest THEN contracted - sum(contracted_part) OVER pot ELSE contracted_part END) AS contracted
FROM handed WINDOW pot AS (PARTITION BY job_id, attempt, day, category, currency)
