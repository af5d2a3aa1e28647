-- List who held how much within the scope of each target.
-- In: targets of one weighing, placements, attempts, machines. Out: holds. A placement without an amount holds the
-- entire machine, or one GPU, CPU or GB where the machine's size is unknown too.
SELECT t.target, p.attempt_key,
  greatest(p.starts, {{first_second}}) AS starts, least(p.ends, {{last_second}}) AS ends,
  {{held_amount}} AS held_amount
FROM placements p
JOIN attempts a ON a.attempt_key = p.attempt_key
LEFT JOIN machines m ON m.machine = p.machine
JOIN targets t ON t.weighing = {{weighing}} AND t.scope = {{scope}}
WHERE p.ends > {{first_second}} AND p.starts < {{last_second}}
