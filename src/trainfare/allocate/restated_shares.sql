-- Compare the shares of a rebuilt closed month with everything that is booked for it.
-- In: rebuilt_shares, booked_shares. Out: the differences per payer, machine, day, category, rule and source, whose name
-- says which month is adjusted; what did not change has no row.
SELECT payer_kind, payer, job_id, attempt, machine_id, resource_id, day, category, rule, reason,
  source || {{adjusting}} AS source, origin, account, currency, converted_from, sum(effective) AS effective,
  sum(billed) AS billed, sum(list) AS list, sum(contracted) AS contracted
FROM (
  SELECT payer_kind, payer, job_id, attempt, machine_id, resource_id, day, category, rule, reason, source, origin,
    account, currency, converted_from, effective, billed, list, contracted
  FROM rebuilt_shares
  UNION ALL
  SELECT payer_kind, payer, job_id, attempt, machine_id, resource_id, day, category, rule, reason, source, origin,
    account, currency, converted_from, -effective, -billed, -list, -contracted
  FROM booked_shares
)
GROUP BY payer_kind, payer, job_id, attempt, machine_id, resource_id, day, category, rule, reason, source, origin,
  account, currency, converted_from
HAVING sum(effective) <> 0 OR sum(billed) <> 0 OR sum(list) <> 0 OR sum(contracted) <> 0
