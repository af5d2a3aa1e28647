-- Days on which usage covered by a commitment costs a different part of its list price than on the median day.
-- At stake: the difference. Of an even number of days, the lower of the two in the middle is the median. All amounts
-- are cut off to millionths, so a difference of as many millionths as that explains is none.
WITH ordered AS (
  SELECT *, row_number() OVER (
      PARTITION BY commitment_id, item, currency ORDER BY CAST(effective AS HUGEINT) * 1000000000000 // list, day
    ) AS position,
    count(*) OVER (PARTITION BY commitment_id, item, currency) AS days
  FROM committed_days
),
expected AS (
  SELECT d.*, CAST(integer_part(CAST(d.list AS HUGEINT), m.effective, m.list) AS BIGINT) AS expected_effective,
    CAST(m.list + m.effective AS HUGEINT) * (m.list + d.list) // m.list // m.list + 1 AS explained
  FROM committed_days d
  JOIN ordered m ON m.commitment_id = d.commitment_id AND m.item = d.item AND m.currency = d.currency
  WHERE m.position = (m.days + 1) // 2 AND m.effective >= 0
)
SELECT 'commitment ' || commitment_id || ' on ' || day || ': ' || effective * 0.000001::DECIMAL(7,6)
    || ' instead of ' || expected_effective * 0.000001::DECIMAL(7,6) AS evidence,
  CAST(abs(effective - expected_effective) * 0.000001::DECIMAL(7,6) AS DECIMAL(38,12)) AS at_stake, currency
FROM expected WHERE abs(effective - expected_effective) > explained
