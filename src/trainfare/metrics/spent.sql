-- In: kept_shares, ways, payers, machines. Out: effective cost per way, machine and kind of payer: a few thousand rows for what is asked of the whole month.
SELECT coalesce(p.payer_kind, 'attempt') AS payer_kind, p.reason, w.category, w.source, w.account, w.currency, m.machine_id, m.resource_id, s.effective
FROM (
  SELECT way, machine, CASE WHEN payer_key >= {{first_special}} THEN payer_key END AS payer_key, sum(effective) AS effective
  FROM kept_shares GROUP BY way, machine, CASE WHEN payer_key >= {{first_special}} THEN payer_key END
) s
JOIN ways w ON w.way = s.way
LEFT JOIN payers p ON p.payer_key = s.payer_key
LEFT JOIN machines m ON m.machine = s.machine
