-- List every record that has no valid placement, with what is wrong and what to do.
-- In: slurm_records, slurm_tres, slurm_hosts. Out: line, what, do.
SELECT line, format('JobID ''{}'' is not a job number', coalesce(job, '')) AS what, {{fix_record}} AS "do"
FROM slurm_records
WHERE (job IS NULL OR NOT regexp_full_match(job, '[0-9]+(_[0-9]+)?([+][0-9]+)?'))
  -- Tasks of an array that were cancelled before they started share a record.
  AND NOT coalesce(regexp_full_match(job, '[0-9]+_\[.*\]') AND nodes IS NULL AND ended = started, false)
UNION ALL
SELECT line, format('AllocTRES ''{}'' cannot be read', bad), {{fix_record}}
FROM slurm_records JOIN slurm_tres USING (tres)
WHERE bad IS NOT NULL
UNION ALL
SELECT line, format('NodeList ''{}'' cannot be read: {}', nodes, bad), {{fix_record}}
FROM slurm_records JOIN slurm_hosts USING (nodes)
WHERE bad IS NOT NULL
UNION ALL
SELECT line, format('job {} held {} but NodeList names no node', job, tres), {{fix_record}}
FROM slurm_records
WHERE nodes IS NULL AND tres IS NOT NULL AND (ended IS NULL OR ended > started)
UNION ALL
SELECT line, format('job {} ends before it starts', job), {{fix_record}}
FROM slurm_records
WHERE ended < started
UNION ALL
SELECT min(line), format('job {} is on several clusters: {}', job, string_agg(DISTINCT cluster, ', ' ORDER BY cluster)),
  'Export each cluster to a separate file: sacct --clusters=NAME.'
FROM slurm_records
GROUP BY job
HAVING count(DISTINCT cluster) > 1
