-- List the machines of a book with the numbers of their site and of their name.
-- In: book_machines, grain_machine_groups, grain_machine_names.
SELECT m.machine, m.machine_id, m.resource_id, m.gpus, s.site, n.named
FROM book_machines m
JOIN grain_machine_groups s ON {{same_site}} AND s.has_gpus = coalesce(m.gpus > 0, false)
LEFT JOIN grain_machine_names n ON n.machine_id = m.machine_id
