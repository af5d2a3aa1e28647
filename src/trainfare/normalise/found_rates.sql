-- In: rate_rows, wanted_rates. Out: for each currency and day that is wanted the rate of the last day with one, at most {{days}} days back: as the table has it, else the
-- inverse of what it has, else through a currency that one source quotes both against. The rate is rounded once, to 10^-14, half up, and is then what every amount
-- of that currency and day is multiplied by. rate is null where there is none.
WITH span AS (
  SELECT min(day) - {{days}} AS first, max(day) AS last FROM wanted_rates
),
quoted AS (
  SELECT DISTINCT CAST(r.day AS DATE) AS day, r.from_currency, r.to_currency, CAST(r.rate * 100000000000000 AS HUGEINT) AS rate, r.source
  FROM rate_rows r, span s WHERE CAST(r.day AS DATE) BETWEEN s.first AND s.last
),
ways AS (
  SELECT day, from_currency AS currency, rate, source, 1 AS preference FROM quoted WHERE to_currency = {{to}}
  UNION ALL
  SELECT day, to_currency, (20000000000000000000000000000 // rate + 1) // 2, source || ' (inverse of ' || from_currency || ' to ' || to_currency || ')', 2
  FROM quoted WHERE from_currency = {{to}}
  UNION ALL
  SELECT a.day, a.to_currency, (b.rate * 200000000000000 // a.rate + 1) // 2, a.source || ' (through ' || a.from_currency || ')', 3
  FROM quoted a JOIN quoted b ON b.day = a.day AND b.from_currency = a.from_currency AND b.source = a.source AND b.to_currency = {{to}}
  WHERE a.to_currency <> {{to}} AND a.from_currency <> {{to}}
)
SELECT w.adjusts, w.currency AS from_currency, w.day, CAST(x.rate * 0.00000000000001::DECIMAL(14,14) AS DECIMAL(24,14)) AS rate, x.day AS rate_day, x.source AS rate_source
FROM wanted_rates w
LEFT JOIN ways x ON x.currency = w.currency AND x.day <= w.day AND x.day >= w.day - {{days}} AND x.rate > 0
QUALIFY row_number() OVER (PARTITION BY w.adjusts, w.currency, w.day ORDER BY x.day DESC NULLS LAST, x.preference, x.source) = 1
