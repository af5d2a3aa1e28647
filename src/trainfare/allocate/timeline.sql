-- Cut the time of each target where the amount held of it changes.
-- In: holds. Out: intervals with a constant amount. Of several changes at one moment each has the sum of all, and only
-- the last one is followed by an interval.
WITH changes AS (
  SELECT target, starts AS moment, held_amount AS change FROM holds WHERE held_amount > 0
  UNION ALL
  SELECT target, ends, -held_amount FROM holds WHERE held_amount > 0
),
levels AS (
  SELECT target, moment AS starts,
    sum(change) OVER (PARTITION BY target ORDER BY moment) AS held,
    lead(moment) OVER (PARTITION BY target ORDER BY moment) AS ends
  FROM changes
)
SELECT target, starts, ends, CAST(held AS BIGINT) AS held FROM levels WHERE ends > starts AND held > 0
