-- Types of events that are kept but not read.
SELECT detail || ', ' || sum(events) || ' events' AS evidence, CAST(NULL AS DECIMAL(38,12)) AS at_stake,
  CAST(NULL AS VARCHAR) AS currency
FROM event_notes WHERE note = 'unrecognized' GROUP BY detail
