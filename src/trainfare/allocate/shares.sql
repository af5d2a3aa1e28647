-- List the shares as a book stores them: share kind, payer, machine and day as numbers.
-- In: named_parts, spend_parts, routes. Out: shares; they add up to the charges exactly.
SELECT CAST(n.route * 32 + n.category AS INTEGER) AS share_kind, n.payer_key, r.machine, CAST(n.day AS INTEGER) AS day,
  n.effective, n.billed, n.list, n.contracted
FROM named_parts n JOIN routes r ON r.route = n.route
UNION ALL
SELECT CAST(route * 32 + category AS INTEGER), payer_key, machine, CAST(day AS INTEGER),
  effective, billed, list, contracted
FROM spend_parts
