-- List what was held by the owners of time whose placements differ in place or time.
-- In: what was held; the runs of its owners.
SELECT h.way, r.owner, {{place}} AS place, h.starts, h.ends, h.gpu_micros, h.billed_starts, h.billed_ends,
  h.is_complete, r.is_together
FROM {{held}} h JOIN {{runs}} r ON r.way = h.way AND r.owner = {{owner}}
WHERE NOT r.is_simple
