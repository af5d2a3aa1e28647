-- Number the machines that only the job log names.
-- In: stored_placements.
SELECT unknown_machine, CAST(row_number() OVER (ORDER BY unknown_machine) AS BIGINT) AS number
FROM (SELECT DISTINCT unknown_machine FROM stored_placements WHERE unknown_machine IS NOT NULL)
