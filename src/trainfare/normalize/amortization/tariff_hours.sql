-- List the price of a kilowatt-hour for each hour of the week, with its validity and the row that states it.
-- In: tariff_rows.
WITH ranges AS (
  SELECT *, unnest(string_split(days, ' ')) AS weekdays FROM tariff_rows
),
numbered AS (
  SELECT *,
    list_position(['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'], split_part(weekdays, '-', 1)) AS first_weekday,
    list_position(['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'],
      CASE WHEN weekdays LIKE '%-%' THEN split_part(weekdays, '-', 2) ELSE weekdays END) AS last_weekday
  FROM ranges
)
SELECT DISTINCT s.delivery, s.line, s.tariff, d.weekday, h.hour, in_units(s.price_per_kwh) AS price, s.currency, s.zone,
  s.valid_from, s.valid_to
FROM numbered s, (SELECT unnest(range(1, 8)) AS weekday) d, (SELECT unnest(range(24)) AS hour) h
WHERE CASE WHEN s.first_weekday <= s.last_weekday THEN d.weekday BETWEEN s.first_weekday AND s.last_weekday
    ELSE d.weekday >= s.first_weekday OR d.weekday <= s.last_weekday END
  AND CASE WHEN s.from_hour < s.to_hour THEN h.hour >= s.from_hour AND h.hour < s.to_hour
    ELSE h.hour >= s.from_hour OR h.hour < s.to_hour END
