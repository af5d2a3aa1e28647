-- Select the rows of the license list.
SELECT license, 'flat' AS per, 1 AS quantity, price, 'term' AS every, 'USD' AS currency,
  substr(utc_text(started), 1, 10) AS started, substr(utc_text(ended), 1, 10) AS ended
FROM licenses ORDER BY license, started
