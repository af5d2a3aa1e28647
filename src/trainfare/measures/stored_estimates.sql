-- List the estimated cost of each unbilled machine hour, so that it can be compared with the bill later.
-- In: estimates.
SELECT resource_id, machine_id, kind, category, service, billed_services, method, price_source, currency, CAST(starts AS BIGINT) AS starts,
  CAST(ends AS BIGINT) AS ends, CAST(seconds AS BIGINT) AS seconds,
  as_money(integer_part(in_units(effective), CAST(seconds AS BIGINT), CAST(rated_seconds AS BIGINT))) AS effective
FROM estimates
