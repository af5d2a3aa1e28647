-- Cut the lost and overhead time of attempts at every full hour, within the time that the bill covers.
-- In: work_spans, lost_attempts. Out: one row per span and hour of the attempts that are not lost entirely.
SELECT attempt_key, phase, hour, greatest(starts, hour * 3600) AS starts, least(ends, hour * 3600 + 3600) AS ends
FROM (
  SELECT attempt_key, phase, starts, ends, unnest(range(starts // 3600, (ends + 3599) // 3600)) AS hour
  FROM (
    SELECT attempt_key, phase, greatest(starts, {{first_second}}) AS starts, least(ends, {{last_second}}) AS ends
    FROM work_spans
    WHERE starts < {{last_second}} AND ends > {{first_second}}
      AND attempt_key NOT IN (SELECT attempt_key FROM lost_attempts)
  )
)
