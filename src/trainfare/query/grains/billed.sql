-- List what was held, per currency, and which part of it is billed in that currency.
-- In: placements, grain_currencies, grain_priced.
-- Out: where a bill has several currencies, hours are billed in one if the machine is on a bill in it, or if the
-- attempt pays compute cost in it that no single machine has. Hours paid in another currency have no price in it.
WITH priced AS (
  SELECT -c.number AS way, p.job, p.attempt_key, p."set", p.site, p.named, p.place, p.starts, p.ends, p.running,
    p.gpu_micros, p.billed_starts, p.billed_ends,
    c.currencies = 1 OR m.machine IS NOT NULL OR a.attempt_key IS NOT NULL AS is_billed
  FROM {{placements}} p
  CROSS JOIN grain_currencies c
  LEFT JOIN grain_priced m ON m.machine = p.machine AND m.currency = c.currency
  LEFT JOIN grain_priced a ON a.attempt_key = p.attempt_key AND a.currency = c.currency
)
SELECT way, job, attempt_key, "set", site, named, place, starts, ends, running, gpu_micros,
  CASE WHEN is_billed THEN billed_starts END AS billed_starts,
  CASE WHEN is_billed AND billed_starts IS NOT NULL THEN greatest(billed_starts, billed_ends) END AS billed_ends
FROM priced
