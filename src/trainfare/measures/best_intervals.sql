-- Compute the checkpoint interval that loses least (Daly's), and how much shorter the job would run with it.
-- In: checkpoint_habits. Out: the same jobs with the best interval and the time saved, in millionths. With random
-- interruptions, an hour of work takes on average M e^(R/M) (e^((interval + writing)/M) - 1) / interval hours, where M
-- is the time between interruptions and R a restart. Without interruptions both are null. Only measured times enter
-- here, which need not be exact.
WITH best AS (
  SELECT *, CASE
      WHEN uptime_millis IS NULL OR writing_millis <= 0 THEN NULL
      WHEN writing_millis < 2 * uptime_millis THEN greatest(sqrt(2.0 * writing_millis * uptime_millis)
        * (1 + sqrt(writing_millis / (2.0 * uptime_millis)) / 3 + writing_millis / (2.0 * uptime_millis) / 9)
        - writing_millis, 1000)
      ELSE uptime_millis
    END AS best_millis
  FROM checkpoint_habits
),
slowed AS (
  SELECT *,
    CASE WHEN interval_millis > 0
      THEN (exp(least((interval_millis + writing_millis) / (1.0 * uptime_millis), 500)) - 1) / interval_millis
      END AS slow_now,
    (exp(least((best_millis + writing_millis) / (1.0 * uptime_millis), 500)) - 1) / best_millis AS slow_best
  FROM best
)
SELECT job, checkpoints, interruptions, machines, restart_seconds,
  CAST(round(writing_millis / 1000.0) AS BIGINT) AS writing_seconds,
  CAST(round(interval_millis / 1000.0) AS BIGINT) AS interval_seconds,
  CAST(round(uptime_millis / 1000.0) AS BIGINT) AS uptime_seconds,
  CAST(round(best_millis / 1000.0) AS BIGINT) AS best_seconds,
  CASE WHEN slow_now > 0 AND slow_best > 0
    THEN CAST(greatest(round((slow_now - slow_best) / slow_now * 1000000), 0) AS BIGINT) END AS saved_millionths
FROM slowed
