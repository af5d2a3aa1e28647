-- List the labels of each pattern of labels.
-- In: grain_pattern_c, grain_coarser_s.
SELECT DISTINCT c.coarser AS pattern, p."set"
FROM grain_pattern_c p JOIN grain_coarser_s c ON c.pattern = p.pattern
