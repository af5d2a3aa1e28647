-- In: attempts, book_placements, shares. Out: the attempts that held or paid something in the month.
SELECT a.* EXCLUDE (attempt_key)
FROM attempts a
WHERE EXISTS (SELECT 1 FROM book_placements p WHERE p.job_id = a.job_id AND p.attempt = a.attempt)
  OR EXISTS (SELECT 1 FROM shares s WHERE s.job_id = a.job_id AND s.attempt = a.attempt)
