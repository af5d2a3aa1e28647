-- Convert each distinct time that Slurm wrote to UTC.
-- In: sacct_rows(start_text, end_text, submit_text). Out: text, first, second (UTC), what (why it cannot be read).
-- Local time is converted with the zone's offsets a day before and a day after; a result is valid if it converts back
-- to the text. In the hour that occurs twice both are valid, and `first` is the earlier; in the hour that is skipped
-- neither is.
WITH texts AS (
  SELECT DISTINCT unnest([start_text, end_text, submit_text]) AS text FROM sacct_rows
),
forms AS (
  SELECT
    text,
    CASE
      WHEN regexp_full_match(text, '[0-9]{1,11}') THEN make_timestamp(CAST(text AS BIGINT) * 1000000)
      WHEN regexp_full_match(text, '[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9:]{8}(Z|[+-][0-9]{2}(:?[0-9]{2})?)')
      THEN timezone('UTC', TRY_CAST(regexp_replace(text, '([+-][0-9]{2}):?([0-9]{2})$', '\1:\2') AS TIMESTAMPTZ))
    END AS instant,
    CASE WHEN regexp_full_match(text, '[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9:]{8}')
      THEN TRY_CAST(text AS TIMESTAMP) END AS local
  FROM texts
  WHERE text IS NOT NULL
),
offsets AS (
  SELECT
    *,
    local - (timezone({{zone}}, timezone('UTC', local - INTERVAL 1 DAY)) - (local - INTERVAL 1 DAY)) AS before,
    local - (timezone({{zone}}, timezone('UTC', local + INTERVAL 1 DAY)) - (local + INTERVAL 1 DAY)) AS after
  FROM forms
),
conversions AS (
  SELECT
    text,
    instant,
    local,
    CASE WHEN timezone({{zone}}, timezone('UTC', before)) = local THEN before END AS before,
    CASE WHEN timezone({{zone}}, timezone('UTC', after)) = local THEN after END AS after
  FROM offsets
)
SELECT
  text,
  coalesce(instant, before, after) AS first,
  coalesce(instant, after, before) AS second,
  CASE
    WHEN instant IS NULL AND local IS NULL THEN format('''{}'' is not a time', text)
    WHEN instant IS NULL AND before IS NULL AND after IS NULL
    THEN format('{} does not exist in {}: the clock was set forward', text, {{zone}}) END AS what
FROM conversions
