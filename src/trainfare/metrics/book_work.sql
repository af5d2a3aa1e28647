-- In: work_spans, tries. Out: the time of attempts that is not kept work, for readers of the book.
SELECT t.job_id, t.attempt, w.starts, w.ends, w.part, w.how
FROM work_spans w JOIN tries t ON t.attempt_key = w.attempt_key
