-- Bring each job record of `sacct --json` into the words of `sacct --parsable2`.
-- In: sacct_jobs(line, job). Out: the columns of slurm_told; started is null where the job never started.
-- A number is a plain one up to 23.02, and since 23.11 an object that says whether it is set.
WITH found AS (
  SELECT line, json_extract_string(job, [
    '$.job_id', '$.array.job_id', '$.array.task_id', '$.het.job_id', '$.het.job_offset', '$.state.current',
    '$.time.start', '$.time.end', '$.nodes', '$.tres.allocated', '$.restart_cnt', '$.user', '$.account',
    '$.wckey.wckey', '$.comment.job', '$.partition', '$.qos', '$.name', '$.cluster']) AS told
  FROM sacct_jobs
),
numbers AS (
  SELECT
    line,
    told,
    [CASE
      WHEN text LIKE '{%' AND json_extract_string(text, '$.set') = 'true' THEN json_extract_string(text, '$.number')
      WHEN text NOT LIKE '{%' THEN text END
      FOR text IN [told[1], told[2], told[3], told[4], told[5], told[7], told[8], told[11]]] AS number,
    CASE WHEN told[6] LIKE '[%' THEN from_json(told[6], '["VARCHAR"]') ELSE [told[6]] END AS states,
    TRY_CAST(told[10] AS JSON) AS tres
  FROM found
)
SELECT
  line,
  CASE
    WHEN TRY_CAST(number[2] AS BIGINT) > 0 AND number[3] IS NOT NULL THEN number[2] || '_' || number[3]
    WHEN TRY_CAST(number[4] AS BIGINT) > 0 AND number[5] IS NOT NULL THEN number[4] || '+' || number[5]
    ELSE number[1] END AS job,
  -- A state may come with flags beside it. These two are what sacct itself would show.
  CASE
    WHEN list_contains(states, 'RESIZING') THEN 'RESIZING'
    WHEN list_contains(states, 'REQUEUED') THEN 'REQUEUED'
    ELSE states[1] END AS state,
  number[6] AS start_text,
  number[7] AS end_text,
  CASE WHEN number[6] <> '0' THEN make_timestamp(TRY_CAST(number[6] AS BIGINT) * 1000000) END AS started,
  CASE WHEN number[7] <> '0' THEN make_timestamp(TRY_CAST(number[7] AS BIGINT) * 1000000) END AS ended,
  CASE WHEN told[9] NOT IN ({{no_nodes}}) THEN told[9] END AS nodes,
  (SELECT NULLIF(string_agg(kind || coalesce('/' || NULLIF(part, ''), '') || '=' || amount
      || CASE WHEN kind = 'mem' THEN 'M' ELSE '' END, ',' ORDER BY kind, part), '')
    FROM (
      SELECT
        json_extract_string(held, '$.type') AS kind,
        json_extract_string(held, '$.name') AS part,
        json_extract_string(held, '$.count') AS amount
      FROM (SELECT unnest(from_json(tres, '["JSON"]')) AS held))
    WHERE kind IN ('cpu', 'mem', 'gres') AND amount NOT LIKE '-%') AS tres,
  TRY_CAST(number[8] AS INTEGER) AS restarts,
  NULLIF(told[12], '') AS owner,
  NULLIF(told[13], '') AS team,
  NULLIF(ltrim(told[14], '*'), '') AS cost_center,
  NULLIF(trim(told[15]), '') AS comment,
  NULLIF(told[16], '') AS "partition",
  NULLIF(told[17], '') AS qos,
  NULLIF(told[18], '') AS job_name,
  NULLIF(told[19], '') AS cluster
FROM numbers
