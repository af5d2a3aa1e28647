-- In: lines, labour, licences, month. Out: money that belongs to a team, a project or everybody, and the time it is for.
SELECT 'team ' || resource_name AS whose, starts, ends, effective AS units FROM lines WHERE kind = 'datasets'
UNION ALL
SELECT 'project ' || right_project, day, day + 86400, CAST(sum(right_hours * rate) AS HUGEINT) * 1000000000000 FROM labour GROUP BY right_project, day
UNION ALL
SELECT 'all', started, {{end}}, CAST(price AS HUGEINT) * 1000000000000 FROM licences
