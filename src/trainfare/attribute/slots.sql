-- In: weights. Out: per pot its whole weight and its heaviest piece (of equals the smallest), which gets what does not divide.
SELECT target, period, whole, pieces, heaviest // 140737488355328 AS heaviest_weight,
  CAST(140737488355327 - heaviest % 140737488355328 AS BIGINT) AS heaviest
FROM (
  SELECT target, period, CAST(sum(weight) AS BIGINT) AS whole, count(*) AS pieces,
    max(CAST(weight AS HUGEINT) * 140737488355328 + (140737488355327 - piece)) AS heaviest
  FROM weights GROUP BY target, period
)
