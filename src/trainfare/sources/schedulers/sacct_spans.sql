-- Determine each row's start, end and submission time in UTC.
-- In: sacct_rows, sacct_times. Out: line, started, ended, submitted, what (why the times cannot be read).
-- Where the clock was set back, a time can mean two instants. The pair is chosen whose length is what Slurm counted
-- (elapsed and suspended time); if that does not decide, the earlier start and then the earlier end.
-- No cost depends on the time in the queue: if it cannot be read it is unknown, and of two instants the later one that
-- is not after the start is chosen.
WITH candidates AS (
  SELECT
    line,
    wall_seconds,
    starts.first AS started,
    starts.second AS started_late,
    ends.first AS ended,
    ends.second AS ended_late,
    queued.first AS submitted,
    queued.second AS submitted_late,
    coalesce('Start ' || starts.what, 'End ' || ends.what) AS what
  FROM sacct_rows
  JOIN sacct_times AS starts ON start_text = starts.text
  LEFT JOIN sacct_times AS ends ON end_text = ends.text
  LEFT JOIN sacct_times AS queued ON submit_text = queued.text
),
pairs AS (
  SELECT
    *,
    list_min([
      {'off': abs(epoch_second(pair.ended) - epoch_second(pair.started) - coalesce(wall_seconds, 0))
          * CAST(wall_seconds IS NOT NULL AS INTEGER), 'started': pair.started, 'ended': pair.ended}
      FOR pair IN [
        {'started': started, 'ended': ended},
        {'started': started, 'ended': ended_late},
        {'started': started_late, 'ended': ended},
        {'started': started_late, 'ended': ended_late}]
      IF pair.started <= pair.ended]) AS best
  FROM candidates
)
SELECT
  line,
  coalesce(best.started, started) AS started,
  coalesce(best.ended, ended) AS ended,
  CASE WHEN submitted_late <= coalesce(best.started, started) THEN submitted_late ELSE submitted END AS submitted,
  what
FROM pairs
