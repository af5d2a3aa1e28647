-- In: estimates. Out: what each hour of a machine without a bill was expected to cost, so that the bill can be compared when it comes.
SELECT resource_id, machine_id, kind, category, method, price_source, currency, CAST(starts AS BIGINT) AS starts, CAST(ends AS BIGINT) AS ends,
  CAST(seconds AS BIGINT) AS seconds, as_money(whole_part(in_units(effective), CAST(seconds AS BIGINT), CAST(whole AS BIGINT))) AS effective
FROM estimates
