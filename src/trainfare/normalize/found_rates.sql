-- Find the exchange rate of each needed currency and day.
-- In: rate_rows, needed_rates. Out: the rate of the last day that has one, within the allowed number of days: a direct
-- quote, else the inverse of one, else a cross rate through a currency that one source quotes both against. The rate is
-- rounded once, to 10^-14, half up, and then applies to every amount of that currency and day; null if there is none.
WITH span AS (
  SELECT min(day) - {{days}} AS first, max(day) AS last FROM needed_rates
),
quotes AS (
  SELECT DISTINCT CAST(r.day AS DATE) AS day, r.from_currency, r.to_currency,
    CAST(r.rate * 100000000000000 AS HUGEINT) AS rate, r.source
  FROM rate_rows r, span s WHERE CAST(r.day AS DATE) BETWEEN s.first AND s.last
),
candidates AS (
  SELECT day, from_currency AS currency, rate, source, 1 AS preference FROM quotes WHERE to_currency = {{to}}
  UNION ALL
  SELECT day, to_currency, (20000000000000000000000000000 // rate + 1) // 2,
    source || ' (inverse of ' || from_currency || ' to ' || to_currency || ')', 2
  FROM quotes WHERE from_currency = {{to}}
  UNION ALL
  SELECT a.day, a.to_currency, (b.rate * 200000000000000 // a.rate + 1) // 2,
    a.source || ' (through ' || a.from_currency || ')', 3
  FROM quotes a
  JOIN quotes b ON b.day = a.day AND b.from_currency = a.from_currency AND b.source = a.source
    AND b.to_currency = {{to}}
  WHERE a.to_currency <> {{to}} AND a.from_currency <> {{to}}
)
SELECT w.adjusts, w.currency AS from_currency, w.day,
  CAST(x.rate * 0.00000000000001::DECIMAL(14,14) AS DECIMAL(24,14)) AS rate, x.day AS rate_day, x.source AS rate_source
FROM needed_rates w
LEFT JOIN candidates x ON x.currency = w.currency AND x.day <= w.day AND x.day >= w.day - {{days}} AND x.rate > 0
QUALIFY row_number() OVER (
  PARTITION BY w.adjusts, w.currency, w.day ORDER BY x.day DESC NULLS LAST, x.preference, x.source) = 1
