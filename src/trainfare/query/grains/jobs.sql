-- Describe each job: its attempts, its preemptions, and the state and labels of its last attempt.
-- In: the attempts, each once.
SELECT job, any_value(job_id) AS job_id, count(*) AS attempts, arg_max(state, attempt) AS state,
  count(*) FILTER (state = 'preempted') AS preemptions, arg_max("set", attempt) AS "set"{{book}}
FROM {{attempts}}
GROUP BY job
