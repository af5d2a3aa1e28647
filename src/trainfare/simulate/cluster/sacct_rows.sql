-- Select the job log of the Slurm cluster in the columns of sacct. A requeued job keeps its number.
-- In: attempts, jobs, placements.
SELECT a.job_id AS JobID, a.job_id AS JobIDRaw, 'train-us' AS Cluster, j.owner AS "User", j.team AS Account,
  j.cost_center AS WCKey, 'normal' AS QOS, a.pool AS Partition, 'train' AS JobName,
  'project=' || j.project || ';experiment=' || j.experiment AS Comment,
  CASE a.state WHEN 'completed' THEN 'COMPLETED' WHEN 'preempted' THEN 'PREEMPTED' ELSE 'FAILED' END AS State,
  a.started AS Start, a.ended AS "End", a.ended - a.started AS ElapsedRaw, '00:00:00' AS Suspended,
  'billing=1,cpu=' || n.nodes * a.gpus * 12 || ',gres/gpu=' || n.nodes * a.gpus
    || ',mem=' || n.nodes * a.gpus * 100 || 'G,node=' || n.nodes AS AllocTRES,
  a.nodes AS NodeList
FROM attempts a
JOIN jobs j ON j.job_id = a.job_id
JOIN (SELECT number, count(*) AS nodes FROM placements GROUP BY number) n ON n.number = a.number
WHERE j.bill = 'us' ORDER BY a.started, a.job_id
