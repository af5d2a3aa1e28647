-- In: digest_placements. Out: what was held of each machine by day, in millionths of GPU seconds, and by how many jobs.
SELECT machine, DATE '1970-01-01' + CAST(number AS INTEGER) AS day,
  CAST(sum(CAST(least(ends, number * 86400 + 86400) - greatest(starts, number * 86400) AS HUGEINT) * gpu_micros) AS HUGEINT) AS gpu, count(DISTINCT job) AS jobs
FROM (SELECT *, unnest(range(starts // 86400, (ends + 86399) // 86400)) AS number FROM digest_placements WHERE machine IS NOT NULL)
GROUP BY machine, number
ORDER BY machine, number
