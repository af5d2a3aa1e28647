-- In: stored_placements, book_attempts, digest_machines, digest_attempts, book_usage. Out: how busy the GPUs were that each attempt held of each machine, with the job's number and its set of labels.
SELECT a.job, a."set", u.* FROM ({{uses}}) u JOIN digest_attempts a ON a.job_id = u.job_id AND a.attempt = u.attempt
ORDER BY a.job
