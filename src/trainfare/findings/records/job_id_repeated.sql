-- Jobs in the month whose id stands for other jobs, too. At stake: their cost.
SELECT 'job ' || a.job_id || ' of ' || r.log_user AS evidence, sum(s.effective) AS at_stake, w.currency
FROM repeated_ids r
JOIN attempts a ON a.job_id = r.own_id
JOIN stored_shares s ON s.payer_key = a.attempt_key
JOIN share_kinds w ON w.share_kind = s.share_kind
GROUP BY a.job_id, r.log_user, w.currency
