-- In: kept_shares, ways, work_seconds, work_spans, attempts. Out: the money of attempts that lost time or had overhead, cut in time: per attempt, day and category what was kept, lost and overhead. The part with most
-- seconds gets the money and hands on the whole parts of the others, so they add up to the shares exactly. Money of a day on which the attempt did not run is cut as its whole time.
WITH spent AS (
  SELECT s.payer_key AS attempt_key, s.day, w.category, w.currency,
    in_units(CAST(sum(s.effective) AS DECIMAL(38,12))) AS effective,
    in_units(CAST(sum(s.billed) AS DECIMAL(38,12))) AS billed,
    in_units(CAST(sum(s.list) AS DECIMAL(38,12))) AS list,
    in_units(CAST(sum(s.contracted) AS DECIMAL(38,12))) AS contracted
  FROM kept_shares s JOIN ways w ON w.way = s.way
  WHERE s.payer_key IN (SELECT attempt_key FROM work_spans)
  GROUP BY s.payer_key, s.day, w.category, w.currency
),
weighed AS (
  SELECT p.*, coalesce(d.whole, t.whole) AS whole, coalesce(d.kept, t.kept) AS kept, coalesce(d.lost, t.lost) AS lost, coalesce(d.overhead, t.overhead) AS overhead
  FROM spent p
  JOIN work_seconds t ON t.attempt_key = p.attempt_key AND t.day IS NULL
  LEFT JOIN work_seconds d ON d.attempt_key = p.attempt_key AND d.day = p.day
),
cut AS (
  SELECT *, CASE WHEN kept >= lost AND kept >= overhead THEN 'kept' WHEN lost >= overhead THEN 'lost' ELSE 'overhead' END AS heaviest,
    whole_part(effective, kept, whole) AS effective_kept, whole_part(effective, lost, whole) AS effective_lost, whole_part(effective, overhead, whole) AS effective_overhead,
    whole_part(billed, kept, whole) AS billed_kept, whole_part(billed, lost, whole) AS billed_lost, whole_part(billed, overhead, whole) AS billed_overhead,
    whole_part(list, kept, whole) AS list_kept, whole_part(list, lost, whole) AS list_lost, whole_part(list, overhead, whole) AS list_overhead,
    whole_part(contracted, kept, whole) AS contracted_kept, whole_part(contracted, lost, whole) AS contracted_lost, whole_part(contracted, overhead, whole) AS contracted_overhead
  FROM weighed
),
parts AS (
  SELECT attempt_key, day, category, currency, 'kept' AS part, CASE WHEN heaviest = 'kept' THEN effective - effective_lost - effective_overhead ELSE effective_kept END AS effective, CASE WHEN heaviest = 'kept' THEN billed - billed_lost - billed_overhead ELSE billed_kept END AS billed, CASE WHEN heaviest = 'kept' THEN list - list_lost - list_overhead ELSE list_kept END AS list, CASE WHEN heaviest = 'kept' THEN contracted - contracted_lost - contracted_overhead ELSE contracted_kept END AS contracted
  FROM cut WHERE kept > 0
  UNION ALL
  SELECT attempt_key, day, category, currency, 'lost' AS part, CASE WHEN heaviest = 'lost' THEN effective - effective_kept - effective_overhead ELSE effective_lost END AS effective, CASE WHEN heaviest = 'lost' THEN billed - billed_kept - billed_overhead ELSE billed_lost END AS billed, CASE WHEN heaviest = 'lost' THEN list - list_kept - list_overhead ELSE list_lost END AS list, CASE WHEN heaviest = 'lost' THEN contracted - contracted_kept - contracted_overhead ELSE contracted_lost END AS contracted
  FROM cut WHERE lost > 0
  UNION ALL
  SELECT attempt_key, day, category, currency, 'overhead' AS part, CASE WHEN heaviest = 'overhead' THEN effective - effective_kept - effective_lost ELSE effective_overhead END AS effective, CASE WHEN heaviest = 'overhead' THEN billed - billed_kept - billed_lost ELSE billed_overhead END AS billed, CASE WHEN heaviest = 'overhead' THEN list - list_kept - list_lost ELSE list_overhead END AS list, CASE WHEN heaviest = 'overhead' THEN contracted - contracted_kept - contracted_lost ELSE contracted_overhead END AS contracted
  FROM cut WHERE overhead > 0
)
SELECT a.job_id, a.attempt, DATE '1970-01-01' + p.day AS day, p.category, p.currency, p.part, h.how,
  as_money(p.effective) AS effective, as_money(p.billed) AS billed, as_money(p.list) AS list, as_money(p.contracted) AS contracted
FROM parts p
JOIN attempts a ON a.attempt_key = p.attempt_key
JOIN (SELECT attempt_key, max(how) AS how FROM work_spans GROUP BY attempt_key) h ON h.attempt_key = p.attempt_key
