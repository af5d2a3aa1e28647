-- In: labour. Out: the time sheet.
SELECT substr(text_of(day), 1, 10) AS day, person, 'engineer' AS role, hours, rate, 'USD' AS currency, project FROM labour ORDER BY day, person
