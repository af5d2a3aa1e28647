-- Compute cost of time that was lost because spot machines were taken away: work since the last checkpoint, and starting again. At stake: that cost.
SELECT 'team ' || coalesce(t.team, '(none)') || ', project ' || coalesce(t.project, '(none)') || ': '
    || count(DISTINCT CASE WHEN t.state = 'preempted' THEN t.job_id || '#' || t.attempt END) || ' attempts were interrupted'
    || CASE WHEN bool_or(w.bounded) THEN ', without known checkpoints for some: at most this' ELSE '' END AS evidence,
  sum(w.effective) AS at_stake, y.currency
FROM lost_money w
JOIN ways y ON y.way = w.way
JOIN attempts t ON t.attempt_key = w.attempt_key
LEFT JOIN attempts before ON before.attempt_key = t.attempt_key - 1 AND before.job_id = t.job_id
WHERE w.part = 'lost' AND y.category = 'compute' AND (t.state = 'preempted' OR before.state = 'preempted')
GROUP BY t.team, t.project, y.currency
