-- Split each service period into charges per day, and add one charge per time entry.
-- In: service_periods, amortized_months, labor_rows. Out: one charge per service period and day; without a machine, one
-- for all of its days in a month, so that everyone who ran in these days shares it. Each day gets the integer part, and
-- the first day also what does not divide. Days that are not over yet are left out.
WITH days AS (
  SELECT CAST(first_day + CAST(n AS INTEGER) AS DATE) AS day
  FROM (SELECT first_day, unnest(range(end_day - first_day)) AS n FROM amortized_months)
),
daily AS (
  SELECT s.delivery, s.source, s.line, s.component, epoch_second(CAST(d.day AS TIMESTAMP)) // 86400 AS sequence,
    CAST(d.day AS TIMESTAMP) AS period_start, CAST(d.day AS TIMESTAMP) + INTERVAL 1 DAY AS period_end,
    as_money(CAST(sign(s.total_units) AS HUGEINT) * (abs(s.total_units) // (s.end_day - s.first_day)
      + CASE WHEN d.day = s.first_day THEN abs(s.total_units) % (s.end_day - s.first_day) ELSE 0 END)) AS amount,
    s.currency, s.origin, s.category, s.service, s.resource, s.description, s.tags
  FROM service_periods s
  JOIN days d ON d.day >= s.first_day AND d.day < s.end_day AND d.day >= s.charged_from AND d.day < s.charged_to
  WHERE CAST(d.day AS TIMESTAMP) + INTERVAL 1 DAY <= {{as_of}}
)
SELECT * FROM daily WHERE resource IS NOT NULL
UNION ALL
SELECT delivery, source, line, component, min(sequence), min(period_start), max(period_end), sum(amount), currency,
  origin, category, service, resource, description, tags
FROM daily WHERE resource IS NULL
GROUP BY delivery, source, line, component, date_trunc('month', period_start), currency, origin, category, service,
  resource, description, tags
UNION ALL
SELECT l.delivery, l.source, l.line, 0, 0, CAST(CAST(l.day AS DATE) AS TIMESTAMP),
  CAST(CAST(l.day AS DATE) AS TIMESTAMP) + INTERVAL 1 DAY,
  CAST(l.hours * l.rate AS DECIMAL(38,12)), l.currency, 'labor', 'labor', coalesce(l.role, 'Labor'), NULL,
  coalesce(l.person, l.role) || ', ' || CAST(l.hours AS VARCHAR) || ' h' || coalesce(': ' || l.note, ''), l.tags
FROM labor_rows l
JOIN amortized_months m ON CAST(l.day AS DATE) >= m.first_day AND CAST(l.day AS DATE) < m.end_day
