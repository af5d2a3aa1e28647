-- In: book_work, digest_attempts. Out: the time of attempts that is not kept work, that of one job beside each other.
SELECT a.job, w.job_id, w.attempt, w.starts, w.ends, w.part, w.how, w.phase
FROM book_work w JOIN digest_attempts a ON a.job_id = w.job_id AND a.attempt = w.attempt
ORDER BY a.job, w.attempt, w.starts
