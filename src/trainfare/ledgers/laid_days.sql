-- In: stretches, laid_months, labour_rows. Out: a charge per stretch and day; where it is for no machine, one for all of its days in a month, so that whoever ran in the
-- month shares in it; and one per time entry. A stretch is split as every pot is: each day gets the whole part, and the first day what does not divide. Days that are
-- not over yet are left out.
WITH days AS (
  SELECT CAST(first + CAST(n AS INTEGER) AS DATE) AS day FROM (SELECT first, unnest(range(before_ - first)) AS n FROM laid_months)
),
spread AS (
  SELECT s.delivery, s.source, s.line, s.component, epoch_second(CAST(d.day AS TIMESTAMP)) // 86400 AS place,
    CAST(d.day AS TIMESTAMP) AS period_start, CAST(d.day AS TIMESTAMP) + INTERVAL 1 DAY AS period_end,
    as_money(CAST(sign(s.whole) AS HUGEINT) * (abs(s.whole) // (s.before_ - s.first)
      + CASE WHEN d.day = s.first THEN abs(s.whole) % (s.before_ - s.first) ELSE 0 END)) AS amount,
    s.currency, s.origin, s.category, s.service, s.resource, s.description, s.tags
  FROM stretches s
  JOIN days d ON d.day >= s.first AND d.day < s.before_ AND d.day >= s.shown_from AND d.day < s.shown_to
  WHERE CAST(d.day AS TIMESTAMP) + INTERVAL 1 DAY <= {{as_of}}
)
SELECT * FROM spread WHERE resource IS NOT NULL
UNION ALL
SELECT delivery, source, line, component, min(place), min(period_start), max(period_end), sum(amount), currency, origin, category, service, resource, description, tags
FROM spread WHERE resource IS NULL
GROUP BY delivery, source, line, component, date_trunc('month', period_start), currency, origin, category, service, resource, description, tags
UNION ALL
SELECT l.delivery, l.source, l.line, 0, 0, CAST(CAST(l.day AS DATE) AS TIMESTAMP), CAST(CAST(l.day AS DATE) AS TIMESTAMP) + INTERVAL 1 DAY,
  CAST(l.hours * l.rate AS DECIMAL(38,12)), l.currency, 'labour', 'labour', coalesce(l.role, 'Labour'), NULL,
  coalesce(l.person, l.role) || ', ' || CAST(l.hours AS VARCHAR) || ' h' || coalesce(': ' || l.note, ''), l.tags
FROM labour_rows l JOIN laid_months m ON CAST(l.day AS DATE) >= m.first AND CAST(l.day AS DATE) < m.before_
