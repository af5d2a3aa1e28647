-- List the lost and overhead time of attempts in the month, as a book stores it.
-- In: work_spans, work_phases, attempt_summary.
SELECT t.job_id, t.attempt, greatest(w.starts, {{month_start}}) AS starts, least(w.ends, {{month_end}}) AS ends,
  p.part, CASE WHEN w.bounded THEN 'at most' ELSE 'measured' END AS how, p.phase
FROM work_spans w
JOIN work_phases p ON p.number = w.phase
JOIN attempt_summary t ON t.attempt_key = w.attempt_key
WHERE w.starts < {{month_end}} AND w.ends > {{month_start}}
