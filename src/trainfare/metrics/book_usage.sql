-- In: used, attempts, machines. Out: what was measured in the month, for readers of the book.
SELECT a.job_id, a.attempt, m.machine_id, m.resource_id, DATE '1970-01-01' + CAST(u.day AS INTEGER) AS day, u.measure, u.from_region, u.to_region,
  CAST(CAST(u.micros AS DECIMAL(32,0)) * 0.000001 AS DECIMAL(38,6)) AS value
FROM used u
JOIN attempts a ON a.attempt_key = u.attempt_key
LEFT JOIN machines m ON m.machine = u.machine
