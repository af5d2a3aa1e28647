-- Every row of the log that cannot become placements, with what is wrong and what to do.
-- In: slurm_told, slurm_tres, slurm_hosts. Out: line, what, do.
SELECT line, format('JobID ''{}'' is not a job number', coalesce(job, '')) AS what, {{again}} AS "do"
FROM slurm_told
WHERE (job IS NULL OR NOT regexp_full_match(job, '[0-9]+(_[0-9]+)?([+][0-9]+)?'))
  -- Tasks of an array that were cancelled before they started share a record.
  AND NOT coalesce(regexp_full_match(job, '[0-9]+_\[.*\]') AND nodes IS NULL AND ended = started, false)
UNION ALL
SELECT line, format('AllocTRES ''{}'' cannot be read', bad), {{again}}
FROM slurm_told JOIN slurm_tres USING (tres)
WHERE bad IS NOT NULL
UNION ALL
SELECT line, format('NodeList ''{}'' cannot be read: {}', nodes, bad), {{again}}
FROM slurm_told JOIN slurm_hosts USING (nodes)
WHERE bad IS NOT NULL
UNION ALL
SELECT line, format('job {} held {} but NodeList names no node', job, tres), {{again}}
FROM slurm_told
WHERE nodes IS NULL AND tres IS NOT NULL AND (ended IS NULL OR ended > started)
UNION ALL
SELECT line, format('job {} ends before it starts', job), {{again}}
FROM slurm_told
WHERE ended < started
UNION ALL
SELECT min(line), format('job {} is on the clusters {}', job, string_agg(DISTINCT cluster, ', ' ORDER BY cluster)),
  'Export each cluster to a file of its own: sacct --clusters=NAME.'
FROM slurm_told
GROUP BY job
HAVING count(DISTINCT cluster) > 1
