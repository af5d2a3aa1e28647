-- Time entries for a project that no job of the month has, and what one person entered beyond 12 hours a day. At stake: what these cost.
WITH judged AS (
  SELECT e.*, e.project IS NOT NULL AND lower(e.project) NOT IN (SELECT lower(project) FROM attempts WHERE project IS NOT NULL) AS is_unknown
  FROM labour_entries e
),
days AS (
  SELECT who, day, currency, sum(hours) AS hours, max(rate) AS rate FROM judged WHERE NOT is_unknown GROUP BY who, day, currency
)
SELECT 'project ' || project || ': ' || count(*) || ' entries of ' || count(DISTINCT who) || ' people, and no job has it' AS evidence,
  CAST(sum(CAST(hours * rate AS DECIMAL(38,12))) AS DECIMAL(38,12)) AS at_stake, currency
FROM judged WHERE is_unknown GROUP BY project, currency
UNION ALL
SELECT who || ' on ' || day || ': ' || hours || ' hours', CAST((hours - 12) * rate AS DECIMAL(38,12)), currency
FROM days WHERE hours > 12
