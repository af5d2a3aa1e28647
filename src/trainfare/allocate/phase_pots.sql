-- Compute what each divided attempt pays of each pot.
-- In: pots, phase_weights, weights. Out: one row per pot and payer_day with its phase weights and amounts, in whole units,
-- one column per basis and category. The heaviest payer pays what the others do not.
WITH divided AS (
  SELECT p.route, p.target, p.period, p.payer_day AS heaviest, p.total_weight,
    f.payer_day, f.weight, f.w0, f.w1, f.w2, f.w3, f.w4, {{columns}}
  FROM pots p JOIN phase_weights f ON f.target = p.target AND f.period = p.period
  WHERE p.total_weight IS NOT NULL
),
others AS (
  SELECT d.route, d.period, {{others}}
  FROM divided d
  JOIN weights w ON w.target = d.target AND w.period = d.period AND w.payer_day <> d.heaviest
  WHERE d.payer_day = d.heaviest
  GROUP BY d.route, d.period
)
SELECT d.route, d.payer_day, d.w0, d.w1, d.w2, d.w3, d.w4, {{shares}}
FROM divided d
LEFT JOIN others o ON o.route = d.route AND o.period = d.period
