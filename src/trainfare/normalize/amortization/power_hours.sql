-- Price the power of each owned machine per hour: measured where there are readings, rated elsewhere.
-- In: hardware_rows, measured_power, tariff_hours, amortized_months. Out: one row per machine, hour and method; price
-- is null where the tariff has none for that hour.
WITH hours AS (
  SELECT unnest(range(
    epoch_second(CAST(first_day AS TIMESTAMP)) // 3600,
    least(epoch_second(CAST(end_day AS TIMESTAMP)), epoch_second({{as_of}})) // 3600)) AS hour
  FROM amortized_months
),
drawn AS (
  SELECT h.*, t.hour, p.energy AS measured, coalesce(p.measured_us, 0) AS measured_us, p.first_us, p.last_us
  FROM hardware_rows h
  JOIN hours t ON t.hour * 3600 >= epoch_second(date_trunc('day', h.in_service))
    AND (h.retired IS NULL OR t.hour * 3600 < epoch_second(h.retired))
  LEFT JOIN measured_power p ON p.machine = lower(h.machine_id) AND p.hour = t.hour
  WHERE h.tariff IS NOT NULL
),
parts AS (
  SELECT *, 5 AS component, measured AS energy, make_timestamp(first_us // 1000000 * 1000000) AS period_start,
    make_timestamp((last_us + 999999) // 1000000 * 1000000) AS period_end, 'measured' AS how
  FROM drawn WHERE measured IS NOT NULL
  UNION ALL
  SELECT *, 6, 2 * CAST(rated_kw * 1000000 AS HUGEINT) * (3600000000 - measured_us), make_timestamp(hour * 3600000000),
    make_timestamp((hour + 1) * 3600000000), 'rated'
  FROM drawn WHERE rated_kw IS NOT NULL AND measured_us < 3600000000
),
zones AS (
  SELECT tariff, min(zone) AS zone, min(currency) AS currency FROM tariff_hours GROUP BY tariff
),
priced AS (
  SELECT p.*, z.currency AS tariff_currency,
    timezone(z.zone, timezone('UTC', make_timestamp(p.hour * 3600000000))) AS local_time
  FROM parts p LEFT JOIN zones z ON z.tariff = p.tariff
)
SELECT p.delivery, p.source, p.line, p.component, p.hour AS sequence, p.period_start, p.period_end, p.tariff, p.hour,
  t.price, t.line AS tariff_line, p.energy, p.resource_id AS resource, p.machine_id, p.how, p.pue,
  coalesce(t.currency, p.tariff_currency) AS currency,
  as_money(
    (p.energy * CAST(p.pue * 10000 AS HUGEINT) * t.price + 36000000000000000000) // 72000000000000000000) AS amount
FROM priced p
LEFT JOIN tariff_hours t ON t.tariff = p.tariff AND t.weekday = isodow(p.local_time) AND t.hour = hour(p.local_time)
  AND (t.valid_from IS NULL OR epoch_second(t.valid_from) <= p.hour * 3600)
  AND (t.valid_to IS NULL OR epoch_second(t.valid_to) > p.hour * 3600)
