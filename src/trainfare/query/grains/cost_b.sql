-- Sum the cost of the attempts whose busy GPU time was measured, by job, labels and day.
-- In: grain_counted, grain_usage.
SELECT job, "set", day, way_3 AS way, payer_number, {{sums}}
FROM grain_counted
WHERE attempt_key IN (SELECT attempt_key FROM grain_usage WHERE measure = 'gpu_busy_seconds')
GROUP BY job, "set", day, way_3, payer_number
