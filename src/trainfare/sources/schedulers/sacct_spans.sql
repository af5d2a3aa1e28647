-- Give each row its start, its end and when it was put into the queue, in UTC.
-- In: sacct_rows, sacct_moments. Out: line, started, ended, submitted, what (why the times cannot be read).
-- Where the clock was put back a time has two readings. The pair is taken whose length is what Slurm counted
-- (elapsed and suspended time); where that does not tell, the earlier start and then the earlier end.
-- Nothing is paid by the time in the queue: where it cannot be read, it is not known, and of two readings the later is taken that is not after the start.
WITH readings AS (
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
  JOIN sacct_moments AS starts ON start_text = starts.text
  LEFT JOIN sacct_moments AS ends ON end_text = ends.text
  LEFT JOIN sacct_moments AS queued ON submit_text = queued.text
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
  FROM readings
)
SELECT
  line,
  coalesce(best.started, started) AS started,
  coalesce(best.ended, ended) AS ended,
  CASE WHEN submitted_late <= coalesce(best.started, started) THEN submitted_late ELSE submitted END AS submitted,
  what
FROM pairs
