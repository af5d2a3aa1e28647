-- List the corners of each pattern: labels and sites.
-- In: grain_pattern_f, grain_coarser_c.
SELECT DISTINCT c.coarser AS pattern, p."set", p.site
FROM grain_pattern_f p JOIN grain_coarser_c c ON c.pattern = p.pattern
