-- Network cost of attempts by the pairs of different regions between which they sent data, as M7 shows it.
-- At stake: that cost. Bytes whose source or destination is unknown are not known to leave their region.
SELECT 'from ' || e.from_region || ' to ' || e.to_region || ': ' || count(DISTINCT a.job_id)
    || CASE WHEN count(DISTINCT a.job_id) = 1 THEN ' job' ELSE ' jobs' END AS evidence,
  sum(e.effective) AS at_stake, e.currency
FROM egress_costs e JOIN attempts a ON a.attempt_key = e.attempt_key
WHERE e.from_region <> e.to_region
GROUP BY e.from_region, e.to_region, e.currency
HAVING sum(e.effective) <> 0
