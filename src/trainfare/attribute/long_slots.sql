-- In: slot_days. Out: for each pot of several days its whole weight and its heaviest piece (of equals the smallest), which gets what does not divide.
SELECT target, period, CAST(sum(whole) AS BIGINT) AS whole, CAST(sum(pieces) AS BIGINT) AS pieces,
  number_of(max(heaviness(most, heaviest * 65536 + day))) AS heaviest
FROM slot_days WHERE long
GROUP BY target, period
HAVING sum(whole) > 0
