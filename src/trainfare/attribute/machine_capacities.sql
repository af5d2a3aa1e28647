-- In: sizes. Out: what each second of a machine weighs as a whole, and when it existed.
SELECT target, coalesce(capacity, 1) AS capacity, existed_from, existed_to FROM sizes
