-- Collect what the ledgers cost as charges, the same amount on every cost basis.
-- In: amortized_days, power_hours. Out: the columns of tables.CHARGES; a line number is the ledger's row number times
-- 10^9 plus a number of its own.
SELECT {{columns}}
FROM (
  SELECT delivery, source, line, component, sequence, period_start, period_end, amount, currency, origin, category,
    service, resource, description, tags
  FROM amortized_days
  UNION ALL
  SELECT delivery, source, line, component, sequence, period_start, period_end, amount, currency, 'hardware', 'power',
    'Power', resource,
    CAST(CAST(energy // 7200000000 AS DECIMAL(38,0)) * 0.000001 AS VARCHAR) || ' kWh ' || how
      || ' x ' || CAST(pue AS VARCHAR) || ' at ' || tariff,
    CAST(NULL AS VARCHAR)
  FROM power_hours
)
