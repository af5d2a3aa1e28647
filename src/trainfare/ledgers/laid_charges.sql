-- In: laid_days, power_hours. Out: what the ledgers cost, as tables.CHARGES says, on every basis the same. A line is the ledger's row times 10^9 and a number of its own.
SELECT {{columns}}
FROM (
  SELECT delivery, source, line, component, place, period_start, period_end, amount, currency, origin, category, service, resource, description, tags FROM laid_days
  UNION ALL
  SELECT delivery, source, line, component, place, period_start, period_end, amount, currency, 'hardware', 'power', 'Power', resource,
    CAST(CAST(energy // 7200000000 AS DECIMAL(38,0)) * 0.000001 AS VARCHAR) || ' kWh ' || how || ' x ' || CAST(pue AS VARCHAR) || ' at ' || tariff, CAST(NULL AS VARCHAR)
  FROM power_hours
)
