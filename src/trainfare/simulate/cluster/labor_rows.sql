-- Select the rows of the time sheet.
SELECT substr(utc_text(day), 1, 10) AS day, person, 'engineer' AS role, hours, rate, 'USD' AS currency, project
FROM labor ORDER BY day, person
