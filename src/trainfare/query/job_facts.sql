-- Sum the cost and the hours of each job per group, from any grain.
-- In: a grain of facts with its patterns and ways, and names to group by.
-- Out: the wall time of a job in a group is the sum over the patterns that have a place in the group. Cost counts as
-- far as it is asked for, time always; rate_cost is what a rate divides, known_cost also what is known of days that are
-- not billed in full. A job that has one row in the grain needs no sum.
WITH chosen AS (
  SELECT DISTINCT p.pattern{{book}}{{chosen_keys}} FROM {{patterns}} p{{pattern_joins}} WHERE {{chosen_where}}
),
matched AS NOT MATERIALIZED (
  SELECT f.job, f.{{alone}} AS alone{{fact_keys}},
    CASE WHEN {{is_paid}} AND {{is_counted}} THEN f.{{basis}} END AS cost,
    CASE WHEN {{is_paid}} AND {{is_counted}} AND w.estimated THEN f.{{basis}} END AS estimated,
    CASE WHEN {{is_paid}} AND w.{{in_rate}} THEN f.{{basis}} END AS rate_cost,
    CASE WHEN {{is_paid}} AND w.in_gpu THEN f.{{basis}} END AS known_cost,
    f.wall, f.billed_wall, f.gpu, f.billed_gpu, f.gpu_unknown
  FROM {{facts}} f
  JOIN {{way_table}} w ON {{same_way}}
  JOIN chosen c ON {{same_pattern}}{{job_joins}}
  WHERE {{currency}} AND {{fact_where}}
)
SELECT * EXCLUDE (alone) FROM matched WHERE alone
UNION ALL BY NAME
SELECT * EXCLUDE (alone, cost, estimated, rate_cost, known_cost, wall, billed_wall, gpu, billed_gpu, gpu_unknown),
  CAST(sum(cost) AS DECIMAL(38,12)) AS cost, CAST(sum(estimated) AS DECIMAL(38,12)) AS estimated,
  CAST(sum(rate_cost) AS DECIMAL(38,12)) AS rate_cost, CAST(sum(known_cost) AS DECIMAL(38,12)) AS known_cost,
  CAST(sum(wall) AS BIGINT) AS wall, CAST(sum(billed_wall) AS BIGINT) AS billed_wall, CAST(sum(gpu) AS HUGEINT) AS gpu,
  CAST(sum(billed_gpu) AS HUGEINT) AS billed_gpu, bool_or(gpu_unknown) AS gpu_unknown
FROM matched WHERE NOT alone GROUP BY ALL
