-- In: licences, month. Out: the list of licences.
SELECT licence, 'flat' AS per, 1 AS quantity, price, 'term' AS every, 'USD' AS currency, substr(text_of(started), 1, 10) AS started, substr(text_of({{end}}), 1, 10) AS ended
FROM licences ORDER BY licence
