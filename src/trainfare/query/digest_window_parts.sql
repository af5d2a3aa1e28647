-- In: digest_jobs; the jobs that reach beyond the days asked about, as a query. Out: the hours and the rate of each job in some days of one book: of one within these days those of the whole job.
SELECT j.book, j."set", {{job_rate}} AS rate, 1 AS jobs, j.wall, j.billed_wall, j.gpu, j.billed_gpu, j.gpu_unknown
FROM digest_jobs j WHERE j.currency = {{currency}} AND j.first_day >= {{first}} AND j.last_day < {{last}}
UNION ALL
SELECT h.book, h."set", per_hour(h.cost, {{priced}}) AS rate, 1, h.wall, h.billed_wall, h.gpu, h.billed_gpu, h.gpu_unknown
FROM ({{across}}) h
