-- In: book_attempts. Out: every set of labels that attempts have, numbered.
SELECT CAST(row_number() OVER (ORDER BY {{labels}}) AS INTEGER) AS "set", *
FROM (SELECT DISTINCT {{labels}} FROM book_attempts)
