-- List the machines of a book with the number of their site.
-- In: book_machines, grain_machine_groups.
SELECT m.machine, m.machine_id, m.resource_id, m.gpus, s.site
FROM book_machines m
JOIN grain_machine_groups s ON {{same_site}} AND s.has_gpus = coalesce(m.gpus > 0, false)
