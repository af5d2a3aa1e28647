-- In: estimates. Out: the estimates as charges, one per machine, hour and category: the whole part of what the rate gives for the seconds the machine was there.
SELECT {{columns}}
FROM (
  SELECT *, row_number() OVER (ORDER BY machine, hour, category) AS line,
    as_money(whole_part(in_units(effective), CAST(seconds AS BIGINT), CAST(whole AS BIGINT))) AS effective_part,
    as_money(whole_part(in_units(billed), CAST(seconds AS BIGINT), CAST(whole AS BIGINT))) AS billed_part,
    as_money(whole_part(in_units(list), CAST(seconds AS BIGINT), CAST(whole AS BIGINT))) AS list_part,
    as_money(whole_part(in_units(contracted), CAST(seconds AS BIGINT), CAST(whole AS BIGINT))) AS contracted_part
  FROM estimates
)
