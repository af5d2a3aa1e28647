-- Parse the amounts in each distinct AllocTRES text.
-- In: slurm_records(tres). Out: tres, gpu_micros (millionths of a GPU), has_slices, unknown_slice, gpu_models, cpus,
-- memory_milli (thousandths of a GiB), bad (the first unreadable part). `gres/gpu` is the total of the typed counts next to it, so
-- the two are never added. A text without GPUs means none, but one with fractions of GPUs (`gres/shard`, `gres/mps`)
-- does not say how many, so that stays unknown. A MIG slice (`gres/gpu:a100_1g.5gb`) is its compute slices over those of
-- the whole GPU: 4 on an A30 and an RTX PRO 6000, 7 on the others. Where neither the model nor the profile tells, each
-- slice counts as stated, as one GPU.
WITH profiles AS (
  SELECT unnest(string_split(listed, ' ')) AS profile, slices
  FROM (VALUES
    ('1g.6gb 2g.12gb 4g.24gb 2g.48gb 4g.96gb', 4),
    ('1g.5gb 1g.10gb 2g.10gb 3g.20gb 4g.20gb 7g.40gb 1g.20gb 2g.20gb 3g.40gb 4g.40gb 7g.80gb 1g.11gb 1g.12gb 2g.22gb '
      || '2g.24gb 3g.44gb 3g.47gb 3g.48gb 4g.44gb 4g.47gb 4g.48gb 7g.88gb 7g.94gb 7g.95gb 7g.96gb 1g.16gb 1g.18gb '
      || '1g.33gb 1g.35gb 2g.33gb 2g.35gb 3g.71gb 4g.71gb 7g.141gb 1g.23gb 1g.45gb 2g.45gb 3g.90gb 4g.90gb 7g.180gb', 7)
  ) AS known(listed, slices)
),
parts AS (
  SELECT tres, part, split_part(part, '=', 1) AS key, substr(part, instr(part, '=') + 1) AS amount
  FROM (SELECT DISTINCT tres, unnest(string_split(tres, ',')) AS part FROM slurm_records WHERE tres IS NOT NULL)
),
counted AS (
  SELECT
    tres,
    part,
    key,
    CASE WHEN (key = 'cpu' OR key = 'gres/gpu' OR key LIKE 'gres/gpu:%')
      AND regexp_full_match(amount, '[0-9]{1,9}') THEN CAST(amount AS BIGINT) END AS count,
    CASE WHEN key = 'mem'
      AND regexp_full_match(amount, '[0-9]{1,12}([.][0-9]{1,9})?[KMGT]?|[0-9]{1,9}([.][0-9]{1,9})?P') THEN
      CAST(round(CAST(rtrim(amount, 'KMGTP') AS DOUBLE) * 1000 * CASE right(amount, 1)
        WHEN 'K' THEN 1 / 1048576.0
        WHEN 'G' THEN 1
        WHEN 'T' THEN 1024
        WHEN 'P' THEN 1048576
        ELSE 1 / 1024.0 END) AS BIGINT) END AS memory_milli
  FROM parts
),
typed AS (
  SELECT counted.*, profile IS NOT NULL AS is_slice,
    CAST(split_part(profile, 'g', 1) AS BIGINT) AS size,
    CASE
      WHEN regexp_matches(model, 'a30|rtx_?pro') THEN 4
      WHEN regexp_matches(model, '(a100|a800|h100|h800|h200|h20|b100|b200|b300)') THEN 7
      ELSE known.slices END AS slices
  FROM (
    SELECT *, nullif(regexp_extract(lower(key), '([1-7]g[.][0-9]+gb)([+][a-z0-9.+]+)?$', 1), '') AS profile,
      regexp_replace(lower(key), '[1-7]g[.][0-9]+gb.*$', '') AS model
    FROM counted
  ) AS counted
  LEFT JOIN profiles AS known USING (profile)
),
-- Slices that do not say how much they are, and what is not a slice, count whole.
sized AS (
  SELECT *, is_slice AND coalesce(size > slices, true) AS is_unknown,
    count * CASE WHEN is_slice AND size <= slices THEN CAST(size * 420000000 // slices AS BIGINT) ELSE 420000000 END
      AS parts_of_gpu
  FROM typed
)
SELECT
  tres,
  CAST(CASE
    WHEN coalesce(bool_or(is_slice), false) THEN (
        sum(parts_of_gpu) FILTER (key LIKE 'gres/gpu:%')
        + greatest(coalesce(max(count) FILTER (key = 'gres/gpu'), 0) - sum(count) FILTER (key LIKE 'gres/gpu:%'), 0)
          * 420000000
      ) // 420
    ELSE 1000000 * coalesce(
      max(count) FILTER (key = 'gres/gpu'),
      sum(count) FILTER (key LIKE 'gres/gpu:%'),
      CASE WHEN NOT bool_or(key LIKE 'gres/shard%' OR key LIKE 'gres/mps%') THEN 0 END)
  END AS BIGINT) AS gpu_micros,
  coalesce(bool_or(is_slice), false) AS has_slices,
  min(split_part(key, ':', 2)) FILTER (is_unknown) AS unknown_slice,
  string_agg(DISTINCT rtrim(split_part(model, ':', 2), '_.'), ' and ' ORDER BY rtrim(split_part(model, ':', 2), '_.'))
    FILTER (key LIKE 'gres/gpu:%' AND count > 0 AND rtrim(split_part(model, ':', 2), '_.') <> '') AS gpu_models,
  max(count) FILTER (key = 'cpu') AS cpus,
  max(memory_milli) AS memory_milli,
  min(part) FILTER (
    NOT contains(part, '=')
    OR (key = 'mem' AND memory_milli IS NULL)
    OR ((key = 'cpu' OR key = 'gres/gpu' OR key LIKE 'gres/gpu:%') AND count IS NULL)) AS bad
FROM sized
GROUP BY tres
