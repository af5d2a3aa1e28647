-- List the other months for whose days this book has shares, or bills hours, each by its first day.
-- In: stored_shares, billed_elsewhere.
SELECT DISTINCT CAST(date_trunc('month', DATE '1970-01-01' + CAST(day AS INTEGER)) AS DATE) AS month
FROM (
  SELECT day FROM stored_shares WHERE day < {{first_day}} OR day >= {{end_day}}
  UNION
  SELECT starts // 86400 FROM billed_elsewhere
  UNION
  SELECT (ends - 1) // 86400 FROM billed_elsewhere
)
WHERE day < {{first_day}} OR day >= {{end_day}}
