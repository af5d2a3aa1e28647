-- In: cells or cut_cells, period_cells. Out: what each attempt weighs in each pot, day by day. A piece is a payer and a day in one number.
SELECT c.target, p.period, CAST(c.attempt_key AS BIGINT) * 65536 + c.hour // 24 AS piece,
  CAST({{sum}}((least(c.ends, p.ends) - greatest(c.starts, p.starts)) * c.grip) AS BIGINT) AS weight
FROM {{cells}} c
JOIN period_cells p ON p.hour = c.hour
WHERE c.ends > p.starts AND p.ends > c.starts AND c.grip > 0 {{only}}
{{together}}
