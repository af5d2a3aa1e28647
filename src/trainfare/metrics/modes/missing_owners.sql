-- Cost of jobs that name no owner, by team and project. At stake: that cost.
SELECT 'team ' || coalesce(a.team, '(none)') || ', project ' || coalesce(a.project, '(none)') || ': '
    || count(DISTINCT a.job_id) || ' jobs without owner' AS evidence,
  sum(s.effective) AS at_stake, w.currency
FROM kept_shares s JOIN attempts a ON a.attempt_key = s.payer_key JOIN ways w ON w.way = s.way
WHERE a.owner IS NULL
GROUP BY a.team, a.project, w.currency
