-- Sum the hours of each owner of time by day and pattern of places, in seconds and millionths of GPU seconds.
-- In: the unit of time, a day for most owners; the runs of the owners; what was held where a run is not simple, the
-- pieces of that time, and their patterns.
-- Out: wall time and wall time of complete days stand under the pattern that was held; GPU time under its place. The
-- wall time of a group is the sum over the patterns that have a place in it.
WITH simple AS (
  SELECT way, owner, place, number, gpu_micros, gpu_unknown, is_complete,
    least(ends, number * {{unit}} + {{unit}}) - greatest(starts, number * {{unit}}) AS seconds,
    CASE WHEN billed_starts IS NOT NULL THEN greatest(least(billed_ends, number * {{unit}} + {{unit}})
      - greatest(billed_starts, number * {{unit}}), 0) END AS billed_seconds
  FROM (
    SELECT *, unnest(range(starts // {{unit}}, (ends + {{unit}} - 1) // {{unit}})) AS number
    FROM {{runs}} WHERE is_simple
  )
),
cut AS (
  SELECT x.way, x.owner, coalesce(n.pattern, x.places[1]) AS pattern, x.number, x.is_billed,
    least(x.ends, x.number * {{unit}} + {{unit}}) - greatest(x.starts, x.number * {{unit}}) AS seconds
  FROM (SELECT *, unnest(range(starts // {{unit}}, (ends + {{unit}} - 1) // {{unit}})) AS number FROM {{intervals}}) x
  LEFT JOIN {{patterns}} n ON len(x.places) > 1 AND n.places = x.places
),
gpus AS (
  SELECT way, owner, place, number, gpu_micros,
    least(ends, number * {{unit}} + {{unit}}) - greatest(starts, number * {{unit}}) AS seconds,
    CASE WHEN billed_starts IS NOT NULL THEN greatest(least(billed_ends, number * {{unit}} + {{unit}})
      - greatest(billed_starts, number * {{unit}}), 0) END AS billed_seconds
  FROM (SELECT *, unnest(range(starts // {{unit}}, (ends + {{unit}} - 1) // {{unit}})) AS number FROM {{others}})
),
joined AS (
  SELECT way, owner, pattern, number, CASE WHEN NOT is_billed THEN seconds END AS wall,
    CASE WHEN is_billed THEN seconds END AS billed_wall, CAST(NULL AS HUGEINT) AS gpu,
    CAST(NULL AS HUGEINT) AS billed_gpu, false AS gpu_unknown
  FROM cut
  UNION ALL
  SELECT way, owner, place, number, NULL, NULL, CAST(seconds AS HUGEINT) * gpu_micros,
    CAST(billed_seconds AS HUGEINT) * gpu_micros, gpu_micros IS NULL
  FROM gpus
),
summed AS (
  SELECT way, owner, pattern, number, CAST(sum(wall) AS BIGINT) AS wall,
    CAST(sum(billed_wall) AS BIGINT) AS billed_wall, CAST(sum(gpu) AS HUGEINT) AS gpu,
    CAST(sum(billed_gpu) AS HUGEINT) AS billed_gpu,
    bool_or(gpu_unknown) AS gpu_unknown
  FROM joined GROUP BY way, owner, pattern, number
  UNION ALL
  SELECT way, owner, place, number, seconds, CASE WHEN is_complete THEN seconds END,
    CAST(seconds AS HUGEINT) * gpu_micros, CAST(billed_seconds AS HUGEINT) * gpu_micros, gpu_unknown
  FROM simple
)
SELECT way, {{of_owner}}, pattern, DATE '1970-01-01' + CAST(number AS INTEGER) AS day, wall, billed_wall, gpu,
  billed_gpu, gpu_unknown
FROM summed
