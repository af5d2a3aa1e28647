-- What each distinct AllocTRES text says was held.
-- In: slurm_told(tres). Out: tres, gpus, cpus, memory_milli (thousandths of a GiB), bad (the first unreadable part).
-- `gres/gpu` is the total of the typed counts beside it, so the two are never added. A text without GPUs holds none,
-- but one with parts of GPUs (`gres/shard`, `gres/mps`) does not say how many, so that stays unknown.
WITH parts AS (
  SELECT tres, part, split_part(part, '=', 1) AS key, substr(part, instr(part, '=') + 1) AS amount
  FROM (SELECT DISTINCT tres, unnest(string_split(tres, ',')) AS part FROM slurm_told WHERE tres IS NOT NULL)
),
counted AS (
  SELECT
    tres,
    part,
    key,
    CASE WHEN (key = 'cpu' OR key = 'gres/gpu' OR key LIKE 'gres/gpu:%')
      AND regexp_full_match(amount, '[0-9]{1,9}') THEN CAST(amount AS BIGINT) END AS count,
    CASE WHEN key = 'mem' AND regexp_full_match(amount, '[0-9]{1,12}([.][0-9]{1,9})?[KMGT]?|[0-9]{1,9}([.][0-9]{1,9})?P') THEN
      CAST(round(CAST(rtrim(amount, 'KMGTP') AS DOUBLE) * 1000 * CASE right(amount, 1)
        WHEN 'K' THEN 1 / 1048576.0
        WHEN 'G' THEN 1
        WHEN 'T' THEN 1024
        WHEN 'P' THEN 1048576
        ELSE 1 / 1024.0 END) AS BIGINT) END AS memory_milli
  FROM parts
)
SELECT
  tres,
  CAST(coalesce(
    max(count) FILTER (key = 'gres/gpu'),
    sum(count) FILTER (key LIKE 'gres/gpu:%'),
    CASE WHEN NOT bool_or(key LIKE 'gres/shard%' OR key LIKE 'gres/mps%') THEN 0 END) AS BIGINT) AS gpus,
  max(count) FILTER (key = 'cpu') AS cpus,
  max(memory_milli) AS memory_milli,
  min(part) FILTER (
    NOT contains(part, '=')
    OR (key = 'mem' AND memory_milli IS NULL)
    OR ((key = 'cpu' OR key = 'gres/gpu' OR key LIKE 'gres/gpu:%') AND count IS NULL)) AS bad
FROM counted
GROUP BY tres
