-- In: digest_shares, digest_attempts, digest_share_kinds, digest_payers, digest_machines. Out: money by day in the parts whose change is reported separately: who pays, whether the attempt was lost, and the kind of
-- GPU where it is for a machine that has any, and the currency it was converted from.
WITH summed AS (
  SELECT s."set", CASE WHEN s.job IS NULL THEN s.payer_key END AS payer_key, a.state IN ({{lost}}) AS lost, s.machine, s.share_kind, s.day, {{sums}}
  FROM digest_shares s LEFT JOIN digest_attempts a ON a.attempt_key = s.payer_key
  GROUP BY ALL
)
SELECT s."set", coalesce(p.payer_kind, 'attempt') AS payer_kind, p.payer, coalesce(s.lost, false) AS lost, w.category,
  CASE WHEN m.gpus > 0 AND w.category = 'compute' THEN coalesce(m.gpu_model, '(unknown)') END AS kind,
  DATE '1970-01-01' + s.day AS day, w.currency, w.converted_from, {{sums}}
FROM summed s
JOIN digest_share_kinds w ON w.share_kind = s.share_kind
LEFT JOIN digest_payers p ON p.payer_key = s.payer_key
LEFT JOIN digest_machines m ON m.machine = s.machine
GROUP BY ALL
ORDER BY 7, 1
