-- List what each second of a machine weighs in total, and when the machine existed.
-- In: sizes. Out: one row per target; a machine of unknown size weighs one.
SELECT target, coalesce(capacity, 1) AS capacity, existed_from, existed_to FROM sizes
