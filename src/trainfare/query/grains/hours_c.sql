-- Sum the hours of each job by day and pattern of labels and sites.
-- In: grain_hours_f, grain_coarser_c.
SELECT h.way, h.job, c.coarser AS pattern, h.day, CAST(sum(h.wall) AS BIGINT) AS wall,
  CAST(sum(h.billed_wall) AS BIGINT) AS billed_wall, CAST(sum(h.gpu) AS HUGEINT) AS gpu,
  CAST(sum(h.billed_gpu) AS HUGEINT) AS billed_gpu, bool_or(h.gpu_unknown) AS gpu_unknown
FROM grain_hours_f h JOIN grain_coarser_c c ON c.pattern = h.pattern
GROUP BY h.way, h.job, c.coarser, h.day
