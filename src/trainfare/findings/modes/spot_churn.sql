-- Compute cost of time lost because spot machines were preempted: the work since the last checkpoint of attempts that
-- were preempted on a spot machine, and the startup of the attempts that followed them. At stake: that cost.
WITH concerned AS (
  SELECT t.attempt_key, t.team, t.project, own.attempt_key IS NOT NULL AS is_preempted,
    before.attempt_key IS NOT NULL AS follows_preemption
  FROM attempts t
  LEFT JOIN spot_preemptions own ON own.attempt_key = t.attempt_key
  LEFT JOIN attempts previous ON previous.attempt_key = t.attempt_key - 1 AND previous.job_id = t.job_id
  LEFT JOIN spot_preemptions before ON before.attempt_key = previous.attempt_key
  WHERE own.attempt_key IS NOT NULL OR before.attempt_key IS NOT NULL
),
caused AS (
  SELECT c.*, w.bounded, y.currency, w.effective
  FROM work_costs w
  JOIN share_kinds y ON y.share_kind = w.share_kind
  JOIN concerned c ON c.attempt_key = w.attempt_key
  WHERE y.category = 'compute' AND w.effective <> 0
    AND (w.phase = 'unsaved' AND c.is_preempted OR w.phase = 'restart' AND c.follows_preemption)
)
SELECT 'team ' || coalesce(team, '(none)') || ', project ' || coalesce(project, '(none)') || ': '
    || count(DISTINCT CASE WHEN is_preempted THEN attempt_key END)
    || CASE WHEN count(DISTINCT CASE WHEN is_preempted THEN attempt_key END) = 1 THEN ' attempt was preempted'
      ELSE ' attempts were preempted' END
    || CASE WHEN bool_or(bounded) THEN ', an upper bound: some have no known checkpoints' ELSE '' END AS evidence,
  CAST(sum(effective) AS DECIMAL(38,12)) AS at_stake, currency
FROM caused
GROUP BY team, project, currency
