-- Find the lost and overhead time of attempts.
-- In: attempt_summary, training_starts, checkpoints. Out: spans of each attempt that do not overlap, by phase. Lost:
-- 1 unsaved, the work of an interrupted attempt that no later one resumed from, and 2 restart, the startup of every
-- attempt but the first. Overhead: 3 start, the startup of the first attempt, and 4 checkpoint, writing one. Without
-- checkpoints, an interrupted attempt is lost entirely, as an upper bound.
SELECT attempt_key, starts, ends, phase, bounded
FROM (
  SELECT attempt_key, starts, training_start AS ends, CASE WHEN is_first THEN 3 ELSE 2 END AS phase, false AS bounded
  FROM training_starts
  UNION ALL
  SELECT c.attempt_key, greatest(c.starts, s.training_start), least(c.ends, coalesce(s.lost_from, c.ends)), 4, false
  FROM checkpoints c JOIN training_starts s ON s.attempt_key = c.attempt_key
  UNION ALL
  SELECT attempt_key, lost_from, ends, 1, false FROM training_starts WHERE lost_from IS NOT NULL
  UNION ALL
  SELECT attempt_key, starts, ends, 1, true
  FROM attempt_summary WHERE interrupted AND attempt_key NOT IN (SELECT attempt_key FROM training_starts)
)
WHERE ends > starts
