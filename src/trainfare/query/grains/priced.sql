-- List the machines, and the attempts that pay for compute without one, in each currency of a bill with several.
-- In: stored_shares, grain_kinds, grain_currencies.
SELECT DISTINCT k.currency, s.machine, CASE WHEN s.machine IS NULL THEN s.payer_key END AS attempt_key
FROM stored_shares s JOIN grain_kinds k ON k.share_kind = s.share_kind
WHERE (s.machine IS NOT NULL OR k.category IN ('compute', 'platform'))
  AND (SELECT max(currencies) > 1 FROM grain_currencies)
