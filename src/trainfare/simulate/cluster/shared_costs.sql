-- Select the costs of a team, a project or everybody, with the period they are for.
-- In: true_lines, labor, licenses.
SELECT 'team ' || resource_name AS owner, starts, ends, effective AS units FROM true_lines WHERE kind = 'datasets'
UNION ALL
SELECT 'project ' || true_project, day, day + 86400, CAST(sum(true_hours * rate) AS HUGEINT) * 1000000000000
FROM labor GROUP BY true_project, day
UNION ALL
SELECT 'all', started, ended, CAST(price AS HUGEINT) * 1000000000000 FROM licenses
