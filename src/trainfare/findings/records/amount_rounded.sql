-- Kinds of charges with amounts that have more than 12 decimals.
SELECT 'source ' || source || ', ' || coalesce(service_name, category) || ': ' || sum(finer) || ' amounts' AS evidence,
  CAST(NULL AS DECIMAL(38,12)) AS at_stake, CAST(NULL AS VARCHAR) AS currency
FROM routed_kinds WHERE finer > 0 GROUP BY source, coalesce(service_name, category)
