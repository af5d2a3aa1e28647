-- List the lost and overhead time of attempts, as a book stores it.
-- In: work_spans, attempt_summary.
SELECT t.job_id, t.attempt, w.starts, w.ends, w.part, w.how
FROM work_spans w JOIN attempt_summary t ON t.attempt_key = w.attempt_key
