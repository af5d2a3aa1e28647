-- Compute cost of time lost because spot machines were preempted: the work since the last checkpoint of attempts that
-- were preempted on a spot machine, and the startup of the attempts that followed them. At stake: that cost.
-- A day on which an attempt lost time for both reasons, of which only one is preemption, is split by their seconds.
WITH concerned AS (
  SELECT t.attempt_key, t.job_id, t.attempt, t.team, t.project, own.attempt_key IS NOT NULL AS is_preempted,
    before.attempt_key IS NOT NULL AS follows_preemption
  FROM attempts t
  LEFT JOIN spot_preemptions own ON own.attempt_key = t.attempt_key
  LEFT JOIN attempts previous ON previous.attempt_key = t.attempt_key - 1 AND previous.job_id = t.job_id
  LEFT JOIN spot_preemptions before ON before.attempt_key = previous.attempt_key
  WHERE own.attempt_key IS NOT NULL OR before.attempt_key IS NOT NULL
),
startups AS (
  SELECT s.attempt_key, s.starts, s.training_start AS ends
  FROM training_starts s JOIN concerned c ON c.attempt_key = s.attempt_key
  WHERE NOT s.is_first AND s.training_start > s.starts AND c.is_preempted <> c.follows_preemption
),
startup_seconds AS (
  SELECT attempt_key, day,
    CAST(sum(least(ends, day * 86400 + 86400) - greatest(starts, day * 86400)) AS BIGINT) AS seconds
  FROM (SELECT *, unnest(range(starts // 86400, (ends - 1) // 86400 + 1)) AS day FROM startups)
  GROUP BY attempt_key, day
),
startup_totals AS (
  SELECT attempt_key, CAST(sum(seconds) AS BIGINT) AS seconds FROM startup_seconds GROUP BY attempt_key
),
lost_totals AS (
  SELECT attempt_key, CAST(sum(lost) AS BIGINT) AS seconds FROM work_seconds GROUP BY attempt_key
),
lost AS (
  -- Cost of a day on which the attempt did not run is split like all of its lost time.
  SELECT c.*, w.bounded, y.currency, in_units(w.effective) AS units,
    CASE WHEN d.attempt_key IS NULL THEN coalesce(g.seconds, 0) ELSE coalesce(s.seconds, 0) END AS startup_seconds,
    CASE WHEN d.attempt_key IS NULL THEN l.seconds ELSE d.lost END AS lost_seconds
  FROM lost_work_costs w
  JOIN share_kinds y ON y.share_kind = w.share_kind
  JOIN concerned c ON c.attempt_key = w.attempt_key
  JOIN lost_totals l ON l.attempt_key = w.attempt_key
  LEFT JOIN work_seconds d ON d.attempt_key = w.attempt_key AND d.day = w.day
  LEFT JOIN startup_seconds s ON s.attempt_key = w.attempt_key AND s.day = w.day
  LEFT JOIN startup_totals g ON g.attempt_key = w.attempt_key
  WHERE w.part = 'lost' AND y.category = 'compute'
),
parts AS (
  SELECT *, integer_part(units, startup_seconds, lost_seconds) AS startup_units FROM lost
),
caused AS (
  SELECT *, CASE
      WHEN is_preempted AND follows_preemption THEN units
      WHEN is_preempted THEN units - startup_units
      ELSE startup_units
    END AS caused_units
  FROM parts
)
SELECT 'team ' || coalesce(team, '(none)') || ', project ' || coalesce(project, '(none)') || ': '
    || count(DISTINCT CASE WHEN is_preempted THEN attempt_key END)
    || CASE WHEN count(DISTINCT CASE WHEN is_preempted THEN attempt_key END) = 1 THEN ' attempt was preempted'
      ELSE ' attempts were preempted' END
    || CASE WHEN bool_or(bounded) THEN ', an upper bound: some have no known checkpoints' ELSE '' END AS evidence,
  CAST(sum(as_money(caused_units)) AS DECIMAL(38,12)) AS at_stake, currency
FROM caused WHERE caused_units <> 0
GROUP BY team, project, currency
