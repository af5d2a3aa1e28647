-- Total the effective cost per kind of share, machine and kind of payer.
-- In: stored_shares, share_kinds, payers, machines. Out: a few thousand rows, for questions about the month as a whole.
SELECT coalesce(p.payer_kind, 'attempt') AS payer_kind, p.reason, w.category, w.source, w.account, w.currency,
  m.machine_id, m.resource_id, s.effective
FROM (
  SELECT share_kind, machine, CASE WHEN payer_key >= {{first_special}} THEN payer_key END AS payer_key,
    sum(effective) AS effective
  FROM stored_shares GROUP BY share_kind, machine, CASE WHEN payer_key >= {{first_special}} THEN payer_key END
) s
JOIN share_kinds w ON w.share_kind = s.share_kind
LEFT JOIN payers p ON p.payer_key = s.payer_key
LEFT JOIN machines m ON m.machine = s.machine
