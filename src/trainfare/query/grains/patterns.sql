-- Number every list of several places that a job held at once: a pattern. One place alone has its own number.
-- In: the pieces of the jobs' time.
SELECT {{last_pattern}} - row_number() OVER (ORDER BY places) AS pattern, places
FROM (SELECT DISTINCT places FROM {{intervals}} WHERE len(places) > 1)
