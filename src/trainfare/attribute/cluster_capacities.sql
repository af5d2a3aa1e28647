-- In: targets of one weighing among clusters, machines. Out: what each second of each machine of the cluster weighs.
SELECT t.target, {{capacity}} AS capacity, m.existed_from, m.existed_to
FROM targets t JOIN machines m ON lower(m.cluster) = t.scope
WHERE t.weighing = {{weighing}} AND {{capacity}} IS NOT NULL
