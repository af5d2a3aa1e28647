-- In: kept_placements, book_attempts, digest_machines, digest_attempts, book_usage. Out: how busy the GPUs were that each attempt held of each machine, with its set of labels.
SELECT a."set", u.* FROM ({{uses}}) u JOIN digest_attempts a ON a.job_id = u.job_id AND a.attempt = u.attempt
