-- List the amounts of ledgers with the service period over which each is spread evenly.
-- In: hardware_rows, declining_balance, license_rows, invoice_rows, amortized_months. Out: total_units over the days
-- from first_day up to end_day. Days outside charged_from and charged_to are not charged: a month's rent is for all of
-- its days, even if the machine arrived in the middle. component distinguishes the amounts of one ledger row.
WITH running_costs AS (
  SELECT *, unnest([
    struct_pack(component := 1, amount := space, what := 'space'),
    struct_pack(component := 2, amount := cooling, what := 'cooling'),
    struct_pack(component := 3, amount := maintenance, what := 'maintenance'),
    struct_pack(component := 4, amount := admin, what := 'admin')]) AS cost
  FROM hardware_rows
),
license_terms AS (
  SELECT *, CAST(started AS DATE) AS started_day, CAST(ended AS DATE) AS ended_day,
    CAST(quantity * price AS DECIMAL(38,12)) AS cost, CASE WHEN per = 'hour' THEN 'hour' ELSE every END AS unit
  FROM license_rows
),
license_years AS (
  SELECT *, unnest(range(CAST(date_diff('year', started_day, ended_day) + 1 AS BIGINT))) AS year
  FROM license_terms WHERE unit = 'year'
)
SELECT delivery, source, line, CAST(0 AS INTEGER) AS component, CAST(in_service AS DATE) AS first_day,
  CAST(CAST(in_service AS DATE) + to_months(life_months) AS DATE) AS end_day, CAST(in_service AS DATE) AS charged_from,
  CAST(CAST(in_service AS DATE) + to_months(life_months) AS DATE) AS charged_to,
  in_units(price) - in_units(salvage) AS total_units, currency, 'hardware' AS origin, 'compute' AS category,
  'Depreciation' AS service, resource_id AS resource, 'depreciation of ' || machine_id AS description,
  CAST(NULL AS VARCHAR) AS tags
FROM hardware_rows WHERE method = 'straight'
UNION ALL
SELECT h.delivery, h.source, h.line, 0, CAST(CAST(h.in_service AS DATE) + to_months(d.month) AS DATE),
  CAST(CAST(h.in_service AS DATE) + to_months(d.month + 1) AS DATE), DATE '1970-01-01', DATE '2299-01-01',
  d.depreciation, h.currency, 'hardware', 'compute', 'Depreciation', h.resource_id,
  'depreciation of ' || h.machine_id || ', month ' || (d.month + 1) || ' of ' || h.life_months, NULL
FROM hardware_rows h JOIN declining_balance d ON d.delivery = h.delivery AND d.line = h.line
UNION ALL
SELECT r.delivery, r.source, r.line, r.cost.component, m.first_day, m.end_day, CAST(r.in_service AS DATE),
  coalesce(CAST(r.retired AS DATE), DATE '2299-01-01'), in_units(r.cost.amount), r.currency, 'hardware', 'facility',
  upper(r.cost.what[1]) || r.cost.what[2:], r.resource_id, r.cost.what || ' of ' || r.machine_id, NULL
FROM running_costs r, amortized_months m WHERE r.cost.amount <> 0
UNION ALL
SELECT t.delivery, t.source, t.line, 0, m.first_day, m.end_day, t.started_day, t.ended_day,
  CASE t.unit WHEN 'hour' THEN in_units(t.cost) * 24 * (m.end_day - m.first_day) ELSE in_units(t.cost) END,
  t.currency, 'license', 'license', t.license || ' (per ' || t.per || ')', t.machine_id,
  t.license || ', per ' || t.per || ' x ' || t.quantity, t.tags
FROM license_terms t, amortized_months m WHERE t.unit IN ('month', 'hour')
UNION ALL
SELECT delivery, source, line, 0, CAST(started_day + to_years(year) AS DATE),
  CAST(started_day + to_years(year + 1) AS DATE), started_day, ended_day, in_units(cost), currency, 'license',
  'license', license || ' (per ' || per || ')', machine_id, license || ', per ' || per || ' x ' || quantity, tags
FROM license_years WHERE started_day + to_years(year) < ended_day
UNION ALL
SELECT delivery, source, line, 0, started_day, ended_day, started_day, ended_day, in_units(cost), currency, 'license',
  'license', license || ' (per ' || per || ')', machine_id, license || ', per ' || per || ' x ' || quantity, tags
FROM license_terms WHERE unit = 'term'
UNION ALL
SELECT delivery, source, line, 0, CAST(started AS DATE), CAST(ended AS DATE), CAST(started AS DATE),
  CAST(ended AS DATE), in_units(amount), currency, 'invoice', category, vendor, machine_id,
  coalesce(description, vendor) || coalesce(' (' || invoice || ')', ''), tags
FROM invoice_rows
