-- In: targets of one weighing, placements, attempts, machines. Out: who gripped how much within each target's scope.
-- What is not told counts as the whole machine, and as one GPU, CPU or GB where that is not known either.
SELECT t.target, p.attempt_key,
  greatest(p.starts, {{first_second}}) AS starts, least(p.ends, {{last_second}}) AS ends,
  {{grip}} AS grip
FROM placements p
JOIN attempts a ON a.attempt_key = p.attempt_key
LEFT JOIN machines m ON m.machine = p.machine
JOIN targets t ON t.weighing = {{weighing}} AND t.scope = {{scope}}
WHERE p.ends > {{first_second}} AND p.starts < {{last_second}}
