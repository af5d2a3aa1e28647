-- Number the names of machines, also those that only the job log has.
-- In: book_machines, stored_placements. Out: one row per name, whatever number of machines has it.
SELECT machine_id, CAST(row_number() OVER (ORDER BY machine_id) AS INTEGER) AS named
FROM (
  SELECT machine_id FROM book_machines WHERE machine_id IS NOT NULL
  UNION
  SELECT unknown_machine FROM stored_placements WHERE unknown_machine IS NOT NULL
)
