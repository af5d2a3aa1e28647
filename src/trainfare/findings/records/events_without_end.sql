-- Attempts in the month, not in any job log, whose events stop without an end.
SELECT DISTINCT 'job ' || n.job_id || ' attempt ' || n.attempt || ' on ' || n.detail || ', last event '
    || CAST(n.noted AS VARCHAR) AS evidence,
  CAST(NULL AS DECIMAL(38,12)) AS at_stake, CAST(NULL AS VARCHAR) AS currency
FROM event_notes n
JOIN placement_rows p ON n.job_id IN (p.job_id, p.native_id) AND p.attempt = n.attempt AND p.state = 'unknown' AND p.ended = n.noted
  AND lower(p.machine_id) = lower(n.detail)
WHERE n.note = 'no end'
