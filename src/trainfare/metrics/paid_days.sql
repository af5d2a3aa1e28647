-- In: kept_shares, ways, work_spans, training_starts, measured. Out: what attempts of which something was measured or lost paid, in whole units, per day and category: money that is cut further, by time or by bytes.
SELECT s.payer_key AS attempt_key, s.day, w.category, w.currency,
  in_units(CAST(sum(s.effective) AS DECIMAL(38,12))) AS effective,
  in_units(CAST(sum(s.billed) AS DECIMAL(38,12))) AS billed,
  in_units(CAST(sum(s.list) AS DECIMAL(38,12))) AS list,
  in_units(CAST(sum(s.contracted) AS DECIMAL(38,12))) AS contracted
FROM kept_shares s JOIN ways w ON w.way = s.way
WHERE s.payer_key IN (
  SELECT attempt_key FROM work_spans
  UNION SELECT attempt_key FROM training_starts
  UNION SELECT attempt_key FROM measured WHERE measure = 'bytes_sent'
)
GROUP BY s.payer_key, s.day, w.category, w.currency
