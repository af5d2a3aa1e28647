-- Find the machines that two bills charge for at the same time.
-- In: machine_lines. Out: per machine and currency, the sources and what all but the most expensive of them charge for
-- that time; a line that overlaps in part counts in part. Where the bills have different currencies, the first currency
-- has the source that is not counted.
WITH others AS (
  SELECT s.machine, s.source, l.starts, l.ends
  FROM (SELECT DISTINCT machine, source FROM machine_lines) s
  JOIN machine_lines l ON l.machine = s.machine AND l.source <> s.source
),
ordered AS (
  SELECT *, max(ends) OVER (
      PARTITION BY machine, source ORDER BY starts, ends ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ) AS previous_end
  FROM others
),
islands AS (
  SELECT *, sum(CASE WHEN starts <= previous_end THEN 0 ELSE 1 END) OVER (
      PARTITION BY machine, source ORDER BY starts, ends ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    ) AS island
  FROM ordered
),
charged_elsewhere AS (
  SELECT machine, source, min(starts) AS starts, max(ends) AS ends FROM islands GROUP BY machine, source, island
),
shared_times AS (
  SELECT l.machine, l.source, l.currency, l.effective, l.ends - l.starts AS seconds,
    CAST(sum(least(l.ends, e.ends) - greatest(l.starts, e.starts)) AS BIGINT) AS shared_seconds
  FROM machine_lines l
  JOIN charged_elsewhere e ON e.machine = l.machine AND e.source = l.source AND e.starts < l.ends AND e.ends > l.starts
  GROUP BY l.machine, l.source, l.currency, l.delivery, l.line, l.effective, l.starts, l.ends
),
bills AS (
  SELECT machine, source, currency,
    sum(as_money(integer_part(in_units(effective), shared_seconds, seconds))) AS effective
  FROM shared_times GROUP BY machine, source, currency
  HAVING sum(as_money(integer_part(in_units(effective), shared_seconds, seconds))) > 0
),
ranked AS (
  SELECT *, row_number() OVER (PARTITION BY machine ORDER BY currency, effective DESC, source) AS ranking FROM bills
),
named AS (
  SELECT machine, string_agg(source, ', ' ORDER BY source) AS sources
  FROM (SELECT DISTINCT machine, source FROM bills) GROUP BY machine
)
SELECT m.machine_id, n.sources, r.currency, CAST(sum(r.effective) AS DECIMAL(38,12)) AS effective
FROM ranked r JOIN machines m ON m.machine = r.machine JOIN named n ON n.machine = r.machine
WHERE r.ranking > 1
GROUP BY m.machine_id, n.sources, r.machine, r.currency
