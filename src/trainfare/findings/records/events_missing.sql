-- Jobs with events that are missing from the numbering of the process that wrote them.
SELECT DISTINCT 'job ' || job_id || ' attempt ' || attempt || ', ' || events || ' missing up to '
    || CAST(noted AS VARCHAR) || coalesce(' (' || detail || ')', '') AS evidence,
  CAST(NULL AS DECIMAL(38,12)) AS at_stake, CAST(NULL AS VARCHAR) AS currency
FROM event_notes WHERE note = 'missing'
