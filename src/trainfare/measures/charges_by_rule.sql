-- Total the month's charges that each rule matches, in the order of the rules.
-- In: routed_kinds, rules_in_force. Out: one row per rule and currency.
SELECT r.name AS rule, count(k.kind) AS kinds, CAST(coalesce(sum(k.lines), 0) AS BIGINT) AS lines,
  sum(k.effective) AS effective, sum(k.billed) AS billed, k.currency,
  CASE WHEN r.among <> '' THEN 'split across ' || r.among || ' by ' || coalesce(nullif(r."by", ''), 'gpu_seconds')
    ELSE coalesce(r.goes_to, '') END AS goes_to
FROM rules_in_force r LEFT JOIN routed_kinds k ON k.rule = r.rule
GROUP BY r.rule, r.name, r.among, r."by", r.goes_to, k.currency
ORDER BY r.rule, k.currency
