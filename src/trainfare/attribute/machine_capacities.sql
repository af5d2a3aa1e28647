-- In: sizes, uneven. Out: what each second of a machine weighs as a whole, and when it existed.
SELECT s.target, CASE WHEN u.target IS NULL THEN coalesce(s.capacity, 1) ELSE {{second}} END AS capacity, s.existed_from, s.existed_to
FROM sizes s LEFT JOIN uneven u ON u.target = s.target
