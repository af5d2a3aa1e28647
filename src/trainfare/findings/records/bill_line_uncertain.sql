-- Kinds of charges with a note of the bill's reader. At stake: their effective cost.
SELECT 'source ' || source || ': ' || note || ' (' || sum(lines) || CASE sum(lines) WHEN 1 THEN ' line)' ELSE ' lines)' END
    AS evidence,
  sum(effective) AS at_stake, currency
FROM routed_kinds WHERE note IS NOT NULL GROUP BY source, note, currency
