-- Convert each job record of `sacct --json` to the columns of `sacct --parsable2`.
-- In: sacct_jobs(line, job). Out: the columns of slurm_records; started is null if the job never started.
-- A number is plain up to 23.02, and since 23.11 an object that says whether it is set. The two largest numbers of 32
-- bits mean that there is none, even where the number is plain: since 24.11 a job that never started has such a start.
WITH numbers AS (
  SELECT
    line,
    job,
    [CASE
      WHEN value IN ('4294967294', '4294967295') THEN '0'
      WHEN value LIKE '{%' AND json_extract_string(value, '$.set') = 'true'
        AND coalesce(json_extract_string(value, '$.infinite'), 'false') = 'false'
      THEN json_extract_string(value, '$.number')
      WHEN value NOT LIKE '{%' AND value <> 'null' THEN value END
      FOR value IN [
        CAST(number AS VARCHAR) FOR number IN [
          job.job_id, job.array.job_id, job.array.task_id, job.het.job_id, job.het.job_offset,
          job.time.start, job.time.end, job.restart_cnt, job.time.submission]]] AS number,
    CASE WHEN CAST(job.state.current AS VARCHAR) LIKE '[%' THEN from_json(job.state.current, '["VARCHAR"]')
      ELSE [json_extract_string(job.state.current, '$')] END AS states
  FROM sacct_jobs
)
SELECT
  line,
  CASE
    WHEN TRY_CAST(number[2] AS BIGINT) > 0 AND number[3] IS NOT NULL THEN number[2] || '_' || number[3]
    WHEN TRY_CAST(number[4] AS BIGINT) > 0 AND number[5] IS NOT NULL THEN number[4] || '+' || number[5]
    ELSE number[1] END AS job,
  -- A state may come with flags, in any order. These two are what sacct itself would show.
  CASE
    WHEN list_contains(states, 'RESIZING') THEN 'RESIZING'
    WHEN list_contains(states, 'REQUEUED') THEN 'REQUEUED'
    ELSE coalesce(list_filter(states, lambda word: word IN ({{base_states}}))[1], states[1]) END AS state,
  -- A time that is present but not set has not come yet; a missing one stays missing.
  CASE WHEN json_extract_string(job.time.start, '$.set') = 'false'
      OR json_extract_string(job.time.start, '$.infinite') = 'true' THEN '0' ELSE number[6] END AS start_text,
  CASE WHEN json_extract_string(job.time.end, '$.set') = 'false'
      OR json_extract_string(job.time.end, '$.infinite') = 'true' THEN '0' ELSE number[7] END AS end_text,
  CASE WHEN number[6] <> '0' AND regexp_full_match(number[6], '[0-9]{1,11}')
    THEN make_timestamp(CAST(number[6] AS BIGINT) * 1000000) END AS started,
  CASE WHEN number[7] <> '0' AND regexp_full_match(number[7], '[0-9]{1,11}')
    THEN make_timestamp(CAST(number[7] AS BIGINT) * 1000000) END AS ended,
  CASE WHEN number[9] <> '0' AND regexp_full_match(number[9], '[0-9]{1,11}')
    THEN make_timestamp(CAST(number[9] AS BIGINT) * 1000000) END AS submitted,
  CASE WHEN job.nodes NOT IN ({{no_nodes}}) THEN job.nodes END AS nodes,
  NULLIF(array_to_string([
    held.type || coalesce('/' || NULLIF(held.name, ''), '') || '=' || held.count
      || CASE WHEN held.type = 'mem' THEN 'M' ELSE '' END
    FOR held IN job.tres.allocated
    IF held.type IN ('cpu', 'mem', 'gres') AND held.count NOT LIKE '-%'], ','), '') AS tres,
  TRY_CAST(number[8] AS SMALLINT) AS restarts,
  NULLIF(job.user, '') AS owner,
  NULLIF(job.account, '') AS team,
  NULLIF(ltrim(job.wckey.wckey, '*'), '') AS cost_center,
  NULLIF(trim(job.comment.job), '') AS comment,
  NULLIF(job.partition, '') AS "partition",
  NULLIF(job.qos, '') AS qos,
  NULLIF(job.name, '') AS job_name,
  NULLIF(job.cluster, '') AS cluster
FROM numbers
