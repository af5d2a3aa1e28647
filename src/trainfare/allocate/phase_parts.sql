-- Split what divided attempts pay across their phases, by the weights of these.
-- In: amounts in whole units with phase weights. Out: the parts of all phases but kept work, added up by the keys. Each
-- phase gets the integer part, and the heaviest one (ties: the smallest number, kept work first) what does not divide.
WITH weighted AS (
  SELECT *, w0 + w1 + w2 + w3 + w4 AS total_weight,
    CASE greatest(w0, w1, w2, w3, w4) WHEN w0 THEN 0 WHEN w1 THEN 1 WHEN w2 THEN 2 WHEN w3 THEN 3 ELSE 4 END AS heaviest
  FROM ({{amounts}})
),
parts AS (
  SELECT *, {{parts}} FROM weighted
)
SELECT {{keys}}, phase, {{sums}}
FROM (
  {{phases}}
)
GROUP BY {{keys}}, phase
