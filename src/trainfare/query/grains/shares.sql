-- Sort the shares, job by job.
-- In: grain_counted. Out: cost that no job pays comes last.
SELECT * EXCLUDE (named) FROM grain_counted ORDER BY job NULLS LAST
