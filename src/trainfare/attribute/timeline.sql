-- In: holds. Out: for each target, the stretches of time in which what is held of it does not change. Of changes at one moment each has
-- the sum of all, and only the last has a stretch behind it.
WITH changes AS (
  SELECT target, starts AS moment, grip AS change FROM holds WHERE grip > 0
  UNION ALL
  SELECT target, ends, -grip FROM holds WHERE grip > 0
),
levels AS (
  SELECT target, moment AS starts,
    sum(change) OVER (PARTITION BY target ORDER BY moment) AS held,
    lead(moment) OVER (PARTITION BY target ORDER BY moment) AS ends
  FROM changes
)
SELECT target, starts, ends, CAST(held AS BIGINT) AS held FROM levels WHERE ends > starts AND held > 0
