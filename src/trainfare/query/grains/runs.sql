-- Add up what each owner of time held: a job, or a job on one machine.
-- In: what was held. Out: `is_simple` where all of it was at one place, from one time to one time, and so was its bill.
SELECT way, {{owner}} AS owner, min(starts) AS starts, max(ends) AS ends, min(billed_starts) AS billed_starts,
  max(billed_ends) AS billed_ends, sum(CAST(gpu_micros AS HUGEINT)) AS gpu_micros,
  bool_or(gpu_micros IS NULL) AS gpu_unknown, min({{place}}) AS place,
  min(starts) = max(starts) AND min(ends) = max(ends) AND count(billed_starts) IN (0, count(*))
    AND coalesce(min(billed_starts) = max(billed_starts) AND min(billed_ends) = max(billed_ends), true) AS is_together,
  min(starts) = max(starts) AND min(ends) = max(ends) AND count(billed_starts) IN (0, count(*))
    AND coalesce(min(billed_starts) = max(billed_starts) AND min(billed_ends) = max(billed_ends), true)
    AND min({{place}}) = max({{place}}) AS is_simple
FROM {{held}} h
GROUP BY way, {{owner}}
