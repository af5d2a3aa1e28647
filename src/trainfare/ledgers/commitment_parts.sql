-- In: commitment_rows, committed_lines (what bills say of them), laid_months. Out: what each commitment costs, day by day: its price spread evenly over its term, given to the machines that it
-- covered by the time they were covered, and what it covered nobody with as Unused. Its purchase on the bill is taken back where it stands: it comes in through these days.
WITH days AS (
  SELECT CAST(first + CAST(n AS INTEGER) AS DATE) AS day FROM (SELECT first, unnest(range(before_ - first)) AS n FROM laid_months)
),
spread AS (
  SELECT c.*, d.day, CAST(d.day AS TIMESTAMP) AS day_start, CAST(d.day AS TIMESTAMP) + INTERVAL 1 DAY AS day_end, CAST(c.quantity AS BIGINT) * 86400 AS covers,
    in_units(c.price) // (CAST(c.ended AS DATE) - CAST(c.started AS DATE))
      + CASE WHEN d.day = CAST(c.started AS DATE) THEN in_units(c.price) % (CAST(c.ended AS DATE) - CAST(c.started AS DATE)) ELSE 0 END AS units
  FROM commitment_rows c JOIN days d ON d.day >= CAST(c.started AS DATE) AND d.day < CAST(c.ended AS DATE)
  WHERE CAST(d.day AS TIMESTAMP) + INTERVAL 1 DAY <= {{as_of}}
),
used AS (
  SELECT s.delivery, s.line, s.day, l.resource_id, min(l.account) AS account, min(l.billing_account) AS billing_account,
    sum(epoch_second(least(l.period_end, s.day_end)) - epoch_second(greatest(l.period_start, s.day_start))) AS seconds
  FROM spread s JOIN committed_lines l ON lower(l.commitment_id) = lower(s.commitment_id) AND l.period_start < s.day_end AND l.period_end > s.day_start
  WHERE l.charge_category = 'Usage' AND coalesce(l.commitment_status, 'Used') <> 'Unused' AND l.resource_id IS NOT NULL
  GROUP BY s.delivery, s.line, s.day, l.resource_id
),
parts AS (
  SELECT s.*, u.resource_id, u.account, u.billing_account,
    whole_part(s.units, CAST(u.seconds AS BIGINT), CAST(greatest(s.covers, sum(u.seconds) OVER (PARTITION BY s.delivery, s.line, s.day)) AS BIGINT)) AS part,
    row_number() OVER (PARTITION BY s.delivery, s.line ORDER BY s.day, u.resource_id) AS place
  FROM spread s JOIN used u ON u.delivery = s.delivery AND u.line = s.line AND u.day = s.day
),
taken AS (
  SELECT delivery, line, day, sum(part) AS part FROM parts GROUP BY delivery, line, day
)
SELECT delivery, source, line, 1 AS component, place, date_trunc('month', day_start) AS billing_start, date_trunc('month', day_start) + INTERVAL 1 MONTH AS billing_end,
  day_start AS period_start, day_end AS period_end, as_money(part) AS amount, currency, 'compute' AS category, 'Commitment' AS service, resource_id AS resource,
  'commitment ' || commitment_id AS description, 'Usage' AS charge_category, commitment_id, 'Used' AS commitment_status, billing_account, account
FROM parts
UNION ALL
SELECT s.delivery, s.source, s.line, 2, epoch_second(s.day_start) // 86400, date_trunc('month', s.day_start), date_trunc('month', s.day_start) + INTERVAL 1 MONTH, s.day_start, s.day_end,
  as_money(s.units - coalesce(t.part, 0)), s.currency, 'compute', 'Commitment', NULL, 'commitment ' || s.commitment_id || ', not used', 'Usage', s.commitment_id, 'Unused', NULL, NULL
FROM spread s LEFT JOIN taken t ON t.delivery = s.delivery AND t.line = s.line AND t.day = s.day
WHERE s.units <> coalesce(t.part, 0)
UNION ALL
SELECT c.delivery, c.source, c.line, 3, row_number() OVER (PARTITION BY c.delivery, c.line ORDER BY l.delivery, l.line), l.billing_start, l.billing_end, l.period_start, l.period_end,
  -l.effective, l.currency, 'compute', 'Commitment', NULL, 'purchase of commitment ' || c.commitment_id || ', spread over its term', 'Purchase', c.commitment_id, l.commitment_status,
  l.billing_account, l.account
FROM committed_lines l JOIN commitment_rows c ON lower(c.commitment_id) = lower(l.commitment_id)
JOIN laid_months m ON billing_month(l.billing_start, l.billing_end) >= m.first AND billing_month(l.billing_start, l.billing_end) < m.before_
WHERE l.charge_category = 'Purchase' AND l.effective <> 0
