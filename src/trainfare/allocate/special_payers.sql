-- Name the payer and the reason for every direct part that is not an attempt's.
-- In: direct_parts, routes, categories, machines, rules_in_force. Out: one row per route, category and payer code.
SELECT DISTINCT p.route, p.category, p.payer AS code,
  CASE
    WHEN p.payer = {{idle}} AND u.idle = 'owner' AND m.team IS NOT NULL THEN 'label'
    WHEN p.payer = {{idle}} THEN 'idle'
    WHEN p.payer = {{outside}} THEN 'outside'
    WHEN p.payer = {{nobody}} AND u.among LIKE 'tag:%' THEN 'label'
    ELSE 'unallocated'
  END AS payer_kind,
  CASE
    WHEN p.payer = {{idle}} AND u.idle = 'owner' AND m.team IS NOT NULL THEN 'team:' || m.team
    WHEN p.payer = {{idle}} THEN '__idle__'
    WHEN p.payer = {{outside}} THEN '__outside__'
    WHEN p.payer = {{nobody}} AND u.among LIKE 'tag:%' THEN substr(u.among, 5) || ':' || r.shown_scope
    ELSE '__unallocated__'
  END AS payer,
  CASE
    WHEN p.payer = {{idle}} AND u.among <> '' THEN 'not held by any job'
    WHEN p.payer = {{nobody}} AND u.among LIKE 'tag:%' THEN 'tagged, and no job with that tag ran then'
    WHEN p.payer = {{nobody}} AND u.among = 'job' THEN 'names a job that is not in the job log'
    WHEN p.payer = {{nobody}} AND u.among = 'all' THEN 'no job held anything then'
    WHEN p.payer = {{nobody}} THEN 'no job held anything in its ' || u.among || ' then'
    WHEN p.payer = {{spend}} THEN 'nothing was spent that it could be split by'
    WHEN u.reason <> '' THEN u.reason
    WHEN u.name = 'no rule' THEN g.category || ' with no matching machine, job or mapped tag'
    WHEN u.among <> '' THEN 'its ' || u.among || ' is not known'
    ELSE u.name
  END AS reason
FROM (
  SELECT DISTINCT route, category, payer_day // 65536 AS payer
  FROM direct_parts WHERE payer_day // 65536 >= {{first_special}}
) p
JOIN routes r ON r.route = p.route
JOIN categories g ON g.number = p.category
JOIN rules_in_force u ON u.rule = r.rule
LEFT JOIN machines m ON m.machine = r.machine
