-- Attempts in the month that the bill covers in no part.
SELECT 'job ' || job_id || ' on ' || machine_id AS evidence, CAST(NULL AS DECIMAL(38,12)) AS at_stake, CAST(NULL AS VARCHAR) AS currency
FROM book_placements
WHERE (billed_ends IS NULL OR billed_ends <= billed_starts) AND starts < {{complete_through}}
GROUP BY job_id, machine_id
