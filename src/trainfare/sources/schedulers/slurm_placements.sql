-- Number the attempts of each job and split every record across its nodes.
-- In: slurm_records, slurm_tres, slurm_comments, slurm_hosts. Out: the columns of the placements contract.
-- One id of two people is two jobs: the log mixes clusters, or a cluster started to count anew.
-- Invariants: a run counts once however often it was exported; the spans of one attempt on one node never overlap;
-- the amounts on the nodes of a record add up to what the record held; an attempt has one state.
WITH runs AS (
  SELECT
    *,
    owner AS log_user,
    regexp_extract(job, '^([0-9]+(_[0-9]+)?)', 1) AS job_id,
    coalesce(TRY_CAST(regexp_extract(job, '[+]([0-9]+)$', 1) AS INTEGER), 0) AS component,
    CASE
      WHEN word = 'COMPLETED' THEN 'completed'
      WHEN word IN ('FAILED', 'OUT_OF_MEMORY', 'BOOT_FAIL', 'DEADLINE') THEN 'failed'
      WHEN word = 'TIMEOUT' THEN 'timeout'
      WHEN word = 'CANCELLED' THEN 'canceled'
      WHEN word = 'PREEMPTED' THEN 'preempted'
      WHEN word = 'NODE_FAIL' THEN 'node_failed'
      -- A job that is over may have no end, if its node or the database was lost.
      WHEN ended IS NULL THEN 'running'
      WHEN word = 'REQUEUED' THEN 'requeued'
      WHEN word = 'RESIZING' THEN 'resized'
      WHEN word IN ('RUNNING', 'SUSPENDED', 'COMPLETING') THEN 'running'
      ELSE 'unknown' END AS run_state
  FROM (SELECT *, split_part(state, ' ', 1) AS word FROM slurm_records)
  WHERE nodes IS NOT NULL
),
-- If a run was exported twice, the ended record is the later one. A resized job has several records with one Start.
once AS (
  SELECT *
  FROM runs
  QUALIFY row_number() OVER (
    PARTITION BY cluster, log_user, job_id, component, started, CASE WHEN word = 'RESIZING' THEN ended END
    ORDER BY ended IS NULL, line DESC) = 1
),
joined AS (
  SELECT
    *,
    lag(ended) OVER runs_in_order AS resized_at,
    coalesce(lag(word) OVER runs_in_order = 'RESIZING'
      AND started IN (lag(started) OVER runs_in_order, lag(ended) OVER runs_in_order), false) AS continues
  FROM once
  WINDOW runs_in_order AS (PARTITION BY cluster, log_user, job_id, component ORDER BY started, ended NULLS LAST)
),
counted AS (
  SELECT
    *,
    CASE WHEN continues THEN greatest(started, resized_at) ELSE started END AS held_from,
    sum(CAST(NOT continues AS INTEGER)) OVER (
      PARTITION BY cluster, log_user, job_id, component ORDER BY started, ended NULLS LAST) AS run
  FROM joined
),
-- Slurm's own count shows how many earlier runs an export without --duplicates omitted.
attempts AS (
  SELECT
    *,
    run + greatest(0, coalesce(max(restarts) OVER same_job + 1 - max(run) OVER same_job, 0)) AS attempt,
    CASE WHEN max(restarts) OVER same_job IS NULL THEN min(started) OVER same_run END AS unnumbered_run,
    first_value(run_state) OVER last_first AS attempt_state,
    first_value(word) OVER last_first AS attempt_word
  FROM counted
  WINDOW
    same_job AS (PARTITION BY cluster, log_user, job_id),
    same_run AS (PARTITION BY cluster, log_user, job_id, run),
    last_first AS (
      PARTITION BY cluster, log_user, job_id, run ORDER BY component, started DESC, ended DESC NULLS FIRST
      ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)
),
labeled AS (
  SELECT
    attempts.* EXCLUDE (owner, team, cost_center, tres, comment),
    gpu_micros // CASE WHEN has_slices THEN 1 ELSE 1000000 END AS gpu_parts,
    CASE WHEN has_slices THEN 1 ELSE 1000000 END AS gpu_part_micros,
    gpu_models,
    cpus,
    memory_milli,
    coalesce(comments.owner, attempts.owner) AS owner,
    coalesce(comments.team, attempts.team) AS team,
    comments.project,
    comments.experiment,
    coalesce(comments.cost_center, attempts.cost_center) AS cost_center,
    comments.model_version,
    comments.priority,
    json_merge_patch(coalesce(comments.others, '{}'), json_merge_patch('{}', json_object(
      'array_job_id', CASE WHEN contains(job_id, '_') THEN split_part(job_id, '_', 1) END,
      'cluster', cluster,
      'job_name', job_name,
      'partition', "partition",
      'qos', qos,
      'slurm_state', attempt_word,
      'unknown_gpu_slice', unknown_slice))) AS labels
  FROM attempts
  LEFT JOIN slurm_tres AS tres ON attempts.tres = tres.tres
  LEFT JOIN slurm_comments AS comments ON attempts.comment = comments.comment
  WHERE held_from < ended OR ended IS NULL
),
on_nodes AS (
  SELECT
    labeled.*,
    unnest(machines) AS machine_id,
    generate_subscripts(machines, 1) AS position,
    len(machines) AS width
  FROM labeled
  JOIN slurm_hosts AS hosts ON labeled.nodes = hosts.nodes
),
-- Which GPUs a job held matters only on nodes with several models. A record does not say which node has which.
mixed_nodes AS (
  SELECT machine_id
  FROM on_nodes
  WHERE width = 1 OR NOT contains(gpu_models, ' and ')
  GROUP BY machine_id
  HAVING count(DISTINCT gpu_models) > 1 OR bool_or(contains(gpu_models, ' and '))
)
SELECT
  job_id,
  attempt,
  machine_id,
  held_from AS started,
  ended,
  CAST((gpu_parts // width + CAST(position <= gpu_parts % width AS INTEGER)) * gpu_part_micros AS DECIMAL(18, 0))
    * 0.000001 AS gpus,
  cpus // width + CAST(position <= cpus % width AS INTEGER) AS cpus,
  CAST(memory_milli // width + CAST(position <= memory_milli % width AS INTEGER) AS DECIMAL(18, 0)) * 0.001
    AS memory_gb,
  attempt_state AS state,
  owner,
  team,
  project,
  experiment,
  cost_center,
  model_version,
  priority,
  submitted,
  cluster AS log_cluster,
  log_user,
  unnumbered_run AS log_run,
  -- The parts of a heterogeneous job are one attempt, each with its own size.
  CASE WHEN word = 'RESIZING' AND NOT contains(job, '+') THEN ended END AS resized,
  CASE WHEN mixed.machine_id IS NOT NULL AND (width = 1 OR NOT contains(gpu_models, ' and '))
    THEN json_merge_patch(labels, json_object('gpu_model', gpu_models)) ELSE labels END AS labels,
  line
FROM on_nodes
LEFT JOIN mixed_nodes AS mixed USING (machine_id)
ORDER BY line, position
