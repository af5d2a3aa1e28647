-- In: direct_parts, channels, machines, rules_in_force. Out: for each channel and pseudo payer that got money, who that is and why.
SELECT DISTINCT p.channel, p.category, p.payer AS code,
  CASE
    WHEN p.payer = {{idle}} AND r.idle = 'owner' AND m.team IS NOT NULL THEN 'label'
    WHEN p.payer = {{idle}} THEN 'idle'
    WHEN p.payer = {{outside}} THEN 'outside'
    WHEN p.payer = {{nobody}} AND r.among LIKE 'tag:%' THEN 'label'
    ELSE 'unallocated'
  END AS payer_kind,
  CASE
    WHEN p.payer = {{idle}} AND r.idle = 'owner' AND m.team IS NOT NULL THEN 'team:' || m.team
    WHEN p.payer = {{idle}} THEN '__idle__'
    WHEN p.payer = {{outside}} THEN '__outside__'
    WHEN p.payer = {{nobody}} AND r.among LIKE 'tag:%' THEN substr(r.among, 5) || ':' || c.shown_scope
    ELSE '__unallocated__'
  END AS payer,
  CASE
    WHEN p.payer = {{idle}} AND r.among <> '' THEN 'not held by any job'
    WHEN p.payer = {{nobody}} AND r.among LIKE 'tag:%' THEN 'tagged, and no job of theirs ran then'
    WHEN p.payer = {{nobody}} AND r.among = 'job' THEN 'names a job that is not in the job log'
    WHEN p.payer = {{nobody}} AND r.among = 'all' THEN 'nobody held anything then'
    WHEN p.payer = {{nobody}} THEN 'nobody held anything in its ' || r.among || ' then'
    WHEN p.payer = {{spend}} THEN 'nothing was spent that it could be shared by'
    WHEN r.reason <> '' THEN r.reason
    WHEN r.name = 'no rule' THEN g.category || ' cost that names no machine, job or tag'
    WHEN r.among <> '' THEN 'its ' || r.among || ' is not known'
    ELSE r.name
  END AS reason
FROM (SELECT DISTINCT channel, category, piece // 65536 AS payer FROM direct_parts WHERE piece // 65536 >= {{first_special}}) p
JOIN channels c ON c.channel = p.channel
JOIN categories g ON g.number = p.category
JOIN rules_in_force r ON r.rule = c.rule
LEFT JOIN machines m ON m.machine = c.machine
