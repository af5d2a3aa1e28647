-- Number in which figures a share counts: cost of the book, cost of its days, wall rates, GPU rates.
-- In: nothing.
-- Out: 0 counts in all of them, 1 and 2 are of days that are not billed in full, 3 is for days of another month; from 4
-- on, shares of other books for days of this month. A way is eight times the number of what a share states, plus this.
SELECT * FROM (VALUES
  (0, true, true, true, true),
  (1, true, true, false, true),
  (2, true, true, false, false),
  (3, true, false, false, false),
  (4, false, true, true, true),
  (5, false, true, false, true),
  (6, false, true, false, false)
) AS listed(standing, is_booked, in_month, in_wall, in_gpu)
