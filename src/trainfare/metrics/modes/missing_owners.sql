-- Cost of jobs that name no owner, by team and project. At stake: that cost.
SELECT 'team ' || coalesce(a.team, '(none)') || ', project ' || coalesce(a.project, '(none)') || ': '
    || count(DISTINCT a.job_id) || ' jobs without owner' AS evidence,
  sum(s.effective) AS at_stake, s.currency
FROM shares s JOIN attempts a ON a.job_id = s.job_id AND a.attempt = s.attempt
WHERE a.owner IS NULL
GROUP BY a.team, a.project, s.currency
