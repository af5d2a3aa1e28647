-- Amortize each commitment evenly over its term, and give each day's cost to the machines it covered.
-- In: commitment_rows, committed_lines (the bill lines about them), amortized_months. Out: per day, the machines'
-- parts by covered time, each for the time that was covered, and as Unused what covered no machine. The purchase on the
-- bill is reversed where it is booked, since its cost comes in through these days.
WITH days AS (
  SELECT CAST(first_day + CAST(n AS INTEGER) AS DATE) AS day
  FROM (SELECT first_day, unnest(range(end_day - first_day)) AS n FROM amortized_months)
),
daily AS (
  SELECT c.*, d.day, CAST(d.day AS TIMESTAMP) AS day_start, CAST(d.day AS TIMESTAMP) + INTERVAL 1 DAY AS day_end,
    CAST(c.quantity AS BIGINT) * 86400 AS committed_seconds,
    in_units(c.price) // (CAST(c.ended AS DATE) - CAST(c.started AS DATE))
      + CASE WHEN d.day = CAST(c.started AS DATE)
          THEN in_units(c.price) % (CAST(c.ended AS DATE) - CAST(c.started AS DATE)) ELSE 0 END AS units
  FROM commitment_rows c
  JOIN days d ON d.day >= CAST(c.started AS DATE) AND d.day < CAST(c.ended AS DATE)
  WHERE CAST(d.day AS TIMESTAMP) + INTERVAL 1 DAY <= {{as_of}}
),
covered AS (
  SELECT s.delivery, s.line, s.day, l.resource_id,
    greatest(epoch_second(l.period_start), epoch_second(s.day_start)) AS starts,
    least(end_second(l.period_start, l.period_end), epoch_second(s.day_end)) AS ends,
    count(*) AS lines, min(l.account) AS account, min(l.billing_account) AS billing_account
  FROM daily s
  JOIN committed_lines l ON lower(l.commitment_id) = lower(s.commitment_id)
    AND l.period_start < s.day_end AND l.period_end > s.day_start AND l.period_end > l.period_start
  WHERE l.charge_category = 'Usage' AND coalesce(l.commitment_status, 'Used') <> 'Unused' AND l.resource_id IS NOT NULL
  GROUP BY s.delivery, s.line, s.day, l.resource_id,
    greatest(epoch_second(l.period_start), epoch_second(s.day_start)),
    least(end_second(l.period_start, l.period_end), epoch_second(s.day_end))
),
-- Covered hours that follow one another are one charge: a machine that was covered all day has one a day.
islands AS (
  SELECT *, sum(CASE WHEN starts = previous_end AND lines = previous_lines THEN 0 ELSE 1 END) OVER (
      PARTITION BY delivery, line, day, resource_id ORDER BY starts, ends ROWS UNBOUNDED PRECEDING
    ) AS island
  FROM (
    SELECT *, lag(ends) OVER spans AS previous_end, lag(lines) OVER spans AS previous_lines
    FROM covered
    WINDOW spans AS (PARTITION BY delivery, line, day, resource_id ORDER BY starts, ends)
  )
),
spans AS (
  SELECT delivery, line, day, resource_id, min(starts) AS starts, max(ends) AS ends, sum(lines * (ends - starts)) AS seconds,
    min(account) AS account, min(billing_account) AS billing_account
  FROM islands GROUP BY delivery, line, day, resource_id, island
),
counted AS (
  SELECT *, row_number() OVER (PARTITION BY delivery, line ORDER BY day, resource_id, starts, ends) AS sequence,
    sum(seconds) OVER (
      PARTITION BY delivery, line, day ORDER BY resource_id, starts, ends ROWS UNBOUNDED PRECEDING) AS seconds_to_here,
    sum(seconds) OVER (PARTITION BY delivery, line, day) AS all_seconds
  FROM spans
),
-- A part is the growth of a running sum, so that a fully used day leaves nothing unused.
parts AS (
  SELECT s.*, u.resource_id, u.account, u.billing_account, u.sequence,
    make_timestamp(u.starts * 1000000) AS covered_from, make_timestamp(u.ends * 1000000) AS covered_to,
    integer_part(s.units, CAST(u.seconds_to_here AS BIGINT),
        CAST(greatest(s.committed_seconds, u.all_seconds) AS BIGINT))
      - integer_part(s.units, CAST(u.seconds_to_here - u.seconds AS BIGINT),
        CAST(greatest(s.committed_seconds, u.all_seconds) AS BIGINT)) AS part
  FROM daily s JOIN counted u ON u.delivery = s.delivery AND u.line = s.line AND u.day = s.day
),
used AS (
  SELECT delivery, line, day, sum(part) AS part FROM parts GROUP BY delivery, line, day
)
SELECT delivery, source, line, 1 AS component, sequence, date_trunc('month', day_start) AS billing_start,
  date_trunc('month', day_start) + INTERVAL 1 MONTH AS billing_end, covered_from AS period_start, covered_to AS period_end,
  as_money(part) AS amount, currency, 'compute' AS category, 'Commitment' AS service, resource_id AS resource,
  'commitment ' || commitment_id AS description, 'Usage' AS charge_category, commitment_id, 'Used' AS commitment_status,
  billing_account, account
FROM parts
UNION ALL
SELECT s.delivery, s.source, s.line, 2, epoch_second(s.day_start) // 86400, date_trunc('month', s.day_start),
  date_trunc('month', s.day_start) + INTERVAL 1 MONTH, s.day_start, s.day_end, as_money(s.units - coalesce(t.part, 0)),
  s.currency, 'compute', 'Commitment', NULL, 'commitment ' || s.commitment_id || ', not used', 'Usage',
  s.commitment_id, 'Unused', NULL, NULL
FROM daily s LEFT JOIN used t ON t.delivery = s.delivery AND t.line = s.line AND t.day = s.day
WHERE s.units <> coalesce(t.part, 0)
UNION ALL
SELECT c.delivery, c.source, c.line, 3,
  row_number() OVER (PARTITION BY c.delivery, c.line ORDER BY l.delivery, l.line),
  l.billing_start, l.billing_end, l.period_start, l.period_end, -l.effective, l.currency, 'compute', 'Commitment', NULL,
  'purchase of commitment ' || c.commitment_id || ', spread over its term', 'Purchase', c.commitment_id,
  l.commitment_status, l.billing_account, l.account
FROM committed_lines l
JOIN commitment_rows c ON lower(c.commitment_id) = lower(l.commitment_id)
JOIN amortized_months m ON billing_month(l.billing_start, l.billing_end) >= m.first_day
  AND billing_month(l.billing_start, l.billing_end) < m.end_day
WHERE l.charge_category = 'Purchase' AND l.effective <> 0
