-- Turn the estimates into charges, one per machine, hour, category and service.
-- In: estimates. Out: the integer part of what the rate gives for the seconds that the machine existed.
SELECT {{columns}}
FROM (
  SELECT *, row_number() OVER (ORDER BY machine, hour, category, service, currency, account) AS line,
    as_money(integer_part(in_units(effective), CAST(seconds AS BIGINT), CAST(rated_seconds AS BIGINT)))
      AS effective_part,
    as_money(integer_part(in_units(billed), CAST(seconds AS BIGINT), CAST(rated_seconds AS BIGINT)))
      AS billed_part,
    as_money(integer_part(in_units(list), CAST(seconds AS BIGINT), CAST(rated_seconds AS BIGINT)))
      AS list_part,
    as_money(integer_part(in_units(contracted), CAST(seconds AS BIGINT), CAST(rated_seconds AS BIGINT)))
      AS contracted_part
  FROM estimates
)
