-- Sort what was held, job by job.
-- In: grain_placed.
SELECT * FROM grain_placed ORDER BY job, starts
