-- Add up what each owner of time held: a job, or a job on one machine.
-- In: what was held. Out: `is_together` where all of it was from one time to one time, and equally complete;
-- `is_simple` where it was also at one place, and billed from one time to one time.
WITH added AS (
  SELECT way, {{owner}} AS owner, min(starts) AS starts, max(ends) AS ends, min(billed_starts) AS billed_starts,
    max(billed_ends) AS billed_ends, bool_and(is_complete) AS is_complete,
    sum(CAST(gpu_micros AS HUGEINT)) AS gpu_micros, bool_or(gpu_micros IS NULL) AS gpu_unknown,
    min({{place}}) AS place, min(starts) = max(starts) AND min(ends) = max(ends)
      AND bool_and(is_complete) = bool_or(is_complete) AS is_together,
    count(billed_starts) IN (0, count(*)) AND min({{place}}) = max({{place}})
      AND coalesce(min(billed_starts) = max(billed_starts) AND min(billed_ends) = max(billed_ends), true) AS is_alike
  FROM {{held}} h
  GROUP BY way, {{owner}}
)
SELECT * EXCLUDE (is_alike), is_together AND is_alike AS is_simple FROM added
