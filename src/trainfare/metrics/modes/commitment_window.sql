-- Days on which what a commitment covers costs another part of its list price than on its first day. At stake: the difference.
WITH compared AS (
  SELECT *, first_value(effective) OVER first_days AS first_effective, first_value(list) OVER first_days AS first_list
  FROM committed_days
  WINDOW first_days AS (PARTITION BY commitment_id, sku_id, currency ORDER BY day)
),
expected AS (
  SELECT *, CAST(whole_part(CAST(list AS HUGEINT), first_effective, first_list) AS BIGINT) AS before FROM compared WHERE first_effective > 0
)
SELECT 'commitment ' || commitment_id || ' on ' || day || ': ' || effective * 0.000001::DECIMAL(7,6) || ' instead of ' || before * 0.000001::DECIMAL(7,6) AS evidence,
  CAST(abs(effective - before) * 0.000001::DECIMAL(7,6) AS DECIMAL(38,12)) AS at_stake, currency
FROM expected WHERE 10 * abs(effective - before) > before
