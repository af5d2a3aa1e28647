-- Number every set of labels and state that attempts have.
-- In: book_attempts.
SELECT CAST(row_number() OVER (ORDER BY {{labels}}, attempt_state) AS INTEGER) AS "set", *
FROM (SELECT DISTINCT {{labels}}, state AS attempt_state FROM book_attempts)
