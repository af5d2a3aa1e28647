-- List the attempts of a book, and those that only other books have shares of for its days.
-- In: book_attempts, foreign_shares, foreign_attempts. Out: an attempt in several other books is as in the first listed.
SELECT * FROM book_attempts
UNION ALL BY NAME
SELECT f.* EXCLUDE (age) REPLACE (
  CAST(n.last + row_number() OVER (ORDER BY f.job_id, f.attempt) AS INTEGER) AS attempt_key)
FROM (
  SELECT * FROM foreign_attempts
  QUALIFY row_number() OVER (PARTITION BY job_id, attempt ORDER BY age) = 1
) f
JOIN (SELECT DISTINCT job_id, attempt FROM foreign_shares) s ON s.job_id = f.job_id AND s.attempt = f.attempt
LEFT JOIN book_attempts a ON a.job_id = f.job_id AND a.attempt = f.attempt
CROSS JOIN (SELECT coalesce(max(attempt_key), 0) AS last FROM book_attempts) n
WHERE a.attempt_key IS NULL
