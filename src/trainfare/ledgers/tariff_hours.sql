-- In: tariff_rows. Out: what a kilowatt-hour costs in each hour of the week, and from when to when; with the row that says so.
WITH numbered AS (
  SELECT *, unnest(string_split(days, ' ')) AS span FROM tariff_rows
),
spans AS (
  SELECT *, list_position(['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'], split_part(span, '-', 1)) AS first_day,
    list_position(['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'], CASE WHEN span LIKE '%-%' THEN split_part(span, '-', 2) ELSE span END) AS last_day
  FROM numbered
)
SELECT DISTINCT s.delivery, s.line, s.tariff, d.weekday, h.hour, in_units(s.price_per_kwh) AS price, s.currency, s.zone, s.valid_from, s.valid_to
FROM spans s, (SELECT unnest(range(1, 8)) AS weekday) d, (SELECT unnest(range(24)) AS hour) h
WHERE CASE WHEN s.first_day <= s.last_day THEN d.weekday BETWEEN s.first_day AND s.last_day ELSE d.weekday >= s.first_day OR d.weekday <= s.last_day END
  AND CASE WHEN s.from_hour < s.to_hour THEN h.hour >= s.from_hour AND h.hour < s.to_hour ELSE h.hour >= s.from_hour OR h.hour < s.to_hour END
