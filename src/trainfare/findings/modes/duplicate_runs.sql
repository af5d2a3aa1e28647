-- Find runs that two job logs report under different names: the same machines, times and amounts, while more of a
-- machine is held than it has.
-- In: placement_rows from several logs, attempts, holdings, placements, machines. Out: the copies, each with the run it
-- repeats. Runs of one log are different runs, however alike; so the second of two in one log repeats the second of two
-- in another. An attempt that both logs report under one name is one attempt already.
WITH logs AS (
  SELECT a.attempt_key, a.job_id, a.attempt, min(r.log) AS log
  FROM placement_rows r JOIN attempts a ON a.job_id = r.job_id AND a.attempt = r.attempt
  GROUP BY a.attempt_key, a.job_id, a.attempt HAVING min(r.log) = max(r.log)
),
fingerprints AS (
  SELECT attempt_key, min(starts) AS starts, count(*) AS machines,
    sum(CAST(hash(lower(machine_id), starts, ends, gpu_micros) AS HUGEINT)) AS fingerprint
  FROM holdings GROUP BY attempt_key
),
repeated AS (
  SELECT f.fingerprint, f.machines, f.starts
  FROM fingerprints f JOIN logs l ON l.attempt_key = f.attempt_key
  GROUP BY f.fingerprint, f.machines, f.starts HAVING min(l.log) <> max(l.log)
),
runs AS (
  SELECT f.*, l.job_id, l.attempt, l.log
  FROM fingerprints f
  JOIN repeated r ON r.fingerprint = f.fingerprint AND r.machines = f.machines AND r.starts = f.starts
  JOIN logs l ON l.attempt_key = f.attempt_key
),
-- A holding without an amount is of the entire machine, whether or not its size is known.
held AS (
  SELECT p.machine, p.starts, p.ends, 'gpu' AS measure, coalesce(m.gpu_micros, 1000000) AS capacity,
    CASE WHEN p.gpu_micros IS NULL THEN coalesce(m.gpu_micros, 1000000)
      WHEN m.gpu_micros IS NULL THEN 0 ELSE p.gpu_micros END AS amount,
    CASE WHEN p.gpu_micros % 1000000 <> 0 THEN 1 ELSE 0 END AS rounded
  FROM placements p JOIN machines m ON m.machine = p.machine
  WHERE p.machine IN (SELECT c.machine FROM placements c JOIN runs r ON r.attempt_key = c.attempt_key)
  UNION ALL
  SELECT p.machine, p.starts, p.ends, 'cpu', m.cpu_millis,
    CASE WHEN p.cpu_millis IS NOT NULL THEN p.cpu_millis WHEN p.gpu_micros IS NULL THEN m.cpu_millis ELSE 0 END,
    CASE WHEN p.cpu_millis % 1000 <> 0 THEN 1 ELSE 0 END
  FROM placements p JOIN machines m ON m.machine = p.machine
  WHERE m.cpu_millis IS NOT NULL
    AND p.machine IN (SELECT c.machine FROM placements c JOIN runs r ON r.attempt_key = c.attempt_key)
),
changes AS (
  SELECT machine, measure, capacity, starts AS moment, amount, rounded FROM held
  UNION ALL SELECT machine, measure, capacity, ends, -amount, -rounded FROM held
),
levels AS (
  SELECT machine, measure, capacity, moment AS starts,
    sum(amount) OVER (PARTITION BY machine, measure ORDER BY moment) AS amount,
    sum(rounded) OVER (PARTITION BY machine, measure ORDER BY moment) AS rounded,
    lead(moment) OVER (PARTITION BY machine, measure ORDER BY moment) AS ends
  FROM changes
),
-- Each fraction was rounded by at most half of a unit.
crowded AS (
  SELECT machine, starts, ends FROM levels WHERE ends > starts AND 2 * (amount - capacity) > rounded
),
beyond_capacity AS (
  SELECT DISTINCT r.attempt_key
  FROM runs r
  JOIN placements p ON p.attempt_key = r.attempt_key
  JOIN crowded c ON c.machine = p.machine AND c.starts < p.ends AND c.ends > p.starts
),
numbered AS (
  SELECT r.*, row_number() OVER (
      PARTITION BY r.fingerprint, r.machines, r.starts, r.log ORDER BY r.job_id, r.attempt
    ) AS number
  FROM runs r JOIN beyond_capacity b ON b.attempt_key = r.attempt_key
),
named AS (
  SELECT *, first_value(job_id) OVER run AS first_name, row_number() OVER run AS ranking
  FROM numbered
  WINDOW run AS (PARTITION BY fingerprint, machines, starts, number ORDER BY job_id, attempt)
)
SELECT attempt_key, job_id, first_name, starts FROM named WHERE ranking > 1
