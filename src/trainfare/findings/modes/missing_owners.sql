-- Cost of jobs without an owner, by team and project. At stake: that cost.
SELECT 'team ' || coalesce(a.team, '(none)') || ', project ' || coalesce(a.project, '(none)') || ': '
    || count(DISTINCT a.job_id) || CASE WHEN count(DISTINCT a.job_id) = 1 THEN ' job' ELSE ' jobs' END
    || ' without an owner' AS evidence,
  sum(s.effective) AS at_stake, w.currency
FROM stored_shares s
JOIN attempts a ON a.attempt_key = s.payer_key
JOIN share_kinds w ON w.share_kind = s.share_kind
WHERE a.owner IS NULL
GROUP BY a.team, a.project, w.currency
