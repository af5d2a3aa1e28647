-- Machines that the machine file lists without an end, still billed when the bill of their account ended a day or more
-- before the job log, and not held since. At stake: at most what they cost until the end of the log.
SELECT coalesce('account ' || account || ', ', '') || 'machine ' || machine_id || ': not held since '
    || make_timestamp(billed_to * 1000000) AS evidence,
  listed_cost AS at_stake, currency
FROM late_machines WHERE listed_seconds > 0 AND seen_seconds = 0
