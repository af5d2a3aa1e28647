-- Attempts in the month with placements that the bill does not cover at all. What the job pays otherwise is stated.
WITH unbilled AS (
  SELECT job_id, machine_id FROM book_placements
  WHERE (billed_ends IS NULL OR billed_ends <= billed_starts) AND starts < {{complete_through}}
  GROUP BY job_id, machine_id
),
paid AS (
  SELECT a.job_id, w.currency, sum(s.effective) AS effective
  FROM stored_shares s
  JOIN share_kinds w ON w.share_kind = s.share_kind
  JOIN attempts a ON a.attempt_key = s.payer_key
  WHERE a.job_id IN (SELECT job_id FROM unbilled)
  GROUP BY a.job_id, w.currency HAVING sum(s.effective) <> 0
),
amounts AS (
  SELECT job_id, string_agg(CAST(effective AS DECIMAL(38,2)) || ' ' || currency, ', ' ORDER BY currency) AS amounts
  FROM paid GROUP BY job_id
)
SELECT 'job ' || u.job_id || ' on ' || u.machine_id
    || coalesce(', which pays ' || p.amounts || ' for other charges', '') AS evidence,
  CAST(NULL AS DECIMAL(38,12)) AS at_stake, CAST(NULL AS VARCHAR) AS currency
FROM unbilled u LEFT JOIN amounts p ON p.job_id = u.job_id
