-- Find the lost and overhead time of attempts.
-- In: attempt_summary, training_starts, checkpoints. Out: spans of each attempt. lost: the work of an interrupted
-- attempt since its last checkpoint, and the startup of every attempt but the first. overhead: the startup of the first
-- attempt, and writing checkpoints. Without checkpoints, an interrupted attempt is lost entirely, as an upper bound.
SELECT attempt_key, starts, ends, part, how
FROM (
  SELECT attempt_key, starts, training_start AS ends, CASE WHEN is_first THEN 'overhead' ELSE 'lost' END AS part,
    'measured' AS how
  FROM training_starts
  UNION ALL
  SELECT c.attempt_key, greatest(c.starts, s.training_start), c.ends, 'overhead', 'measured'
  FROM checkpoints c JOIN training_starts s ON s.attempt_key = c.attempt_key
  UNION ALL
  SELECT attempt_key, coalesce(last_end, training_start), ends, 'lost', 'measured'
  FROM training_starts WHERE interrupted
  UNION ALL
  SELECT attempt_key, starts, ends, 'lost', 'at most'
  FROM attempt_summary WHERE interrupted AND attempt_key NOT IN (SELECT attempt_key FROM training_starts)
)
WHERE ends > starts
