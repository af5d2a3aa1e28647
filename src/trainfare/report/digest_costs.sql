-- In: shares, digest_attempts. Out: what each set of labels, and each payer that is no job, pays by day, category, rule, source, origin and account.
SELECT a."set", s.payer_kind, CASE WHEN s.payer_kind <> 'attempt' THEN s.payer END AS payer, s.reason, s.day, s.category, s.rule, s.source, s.origin, s.account,
  s.currency, sum(s.effective) AS effective, sum(s.billed) AS billed, sum(s.list) AS list, sum(s.contracted) AS contracted
FROM shares s
LEFT JOIN digest_attempts a ON a.job_id = s.job_id AND a.attempt = s.attempt
GROUP BY ALL
ORDER BY s.day, a."set"
