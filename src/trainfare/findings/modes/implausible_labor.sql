-- Time entries for a project without jobs in the month, and hours that one person entered beyond 12 a day.
-- At stake: their cost. The hours entered last, in the order of the files and their rows, are those beyond; they cost
-- what their own entries do. An entry that names no person stands for itself: others of its role are other people.
WITH projects AS (
  SELECT DISTINCT lower(a.project) AS project
  FROM attempts a JOIN stored_placements h ON h.attempt_key = a.attempt_key WHERE a.project IS NOT NULL
),
entries AS (
  SELECT e.day, e.project, e.hours, e.delivery, e.line, coalesce(e.person, e.role) AS who, c.effective, c.currency,
    coalesce('person ' || lower(e.person), 'entry ' || e.delivery || ' ' || e.line) AS worker,
    e.project IS NOT NULL AND p.project IS NULL AS is_unknown
  FROM labor_entries e
  JOIN labor_costs c ON c.delivery = e.delivery AND c.line = e.line
  LEFT JOIN projects p ON p.project = lower(e.project)
),
known AS (
  SELECT *, sum(hours) OVER (PARTITION BY worker, day) AS day_hours,
    coalesce(sum(CASE WHEN hours > 0 THEN hours END) OVER (
      PARTITION BY worker, day ORDER BY delivery DESC, line DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ), 0) AS later_hours
  FROM entries WHERE NOT is_unknown
),
beyond AS (
  SELECT worker, who, day, currency, day_hours, effective, CAST(hours * 1000000 AS BIGINT) AS hour_micros,
    CAST(least(hours, day_hours - 12 - later_hours) * 1000000 AS BIGINT) AS excess_micros
  FROM known WHERE day_hours > 12 AND hours > 0
)
SELECT 'project ' || min(project) || ' has no jobs: ' || count(*)
    || CASE WHEN count(*) = 1 THEN ' entry of ' ELSE ' entries of ' END || count(DISTINCT worker)
    || CASE WHEN count(DISTINCT worker) = 1 THEN ' person' ELSE ' people' END AS evidence,
  CAST(sum(effective) AS DECIMAL(38,12)) AS at_stake, currency
FROM entries WHERE is_unknown GROUP BY lower(project), currency
UNION ALL
SELECT min(who) || ' on ' || day || ': ' || CAST(max(day_hours) AS DECIMAL(18,6)) || ' hours',
  CAST(sum(as_money(integer_part(in_units(effective), excess_micros, hour_micros))) AS DECIMAL(38,12)), currency
FROM beyond WHERE excess_micros > 0 GROUP BY worker, day, currency
