-- List the attempts of which all time was lost.
-- In: work_spans, attempt_summary. Out: one row per attempt; bounded where that is an upper bound.
SELECT w.attempt_key, w.bounded
FROM work_spans w JOIN attempt_summary t ON t.attempt_key = w.attempt_key
WHERE w.phase = 1 AND w.starts <= t.starts AND w.ends >= t.ends
