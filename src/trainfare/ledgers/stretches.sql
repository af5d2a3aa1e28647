-- In: hardware_rows, declining_months, licence_rows, invoice_rows, laid_months. Out: money and the days it is spread over evenly, from first up to
-- before_; whole is in units. Days outside of shown_from and shown_to are left out: a month's rent is for all of its days, also if
-- the machine came in its middle. component tells apart what one row of a ledger gives.
WITH running AS (
  SELECT *, unnest([
    struct_pack(component := 1, amount := space, what := 'space'),
    struct_pack(component := 2, amount := cooling, what := 'cooling'),
    struct_pack(component := 3, amount := maintenance, what := 'maintenance'),
    struct_pack(component := 4, amount := admin, what := 'admin')]) AS cost
  FROM hardware_rows
),
terms AS (
  SELECT *, CAST(started AS DATE) AS first_day, CAST(ended AS DATE) AS end_day, CAST(quantity * price AS DECIMAL(38,12)) AS cost,
    CASE WHEN per = 'hour' THEN 'hour' ELSE every END AS unit
  FROM licence_rows
),
years AS (
  SELECT *, unnest(range(CAST(date_diff('year', first_day, end_day) + 1 AS BIGINT))) AS year FROM terms WHERE unit = 'year'
)
SELECT delivery, source, line, CAST(0 AS INTEGER) AS component, CAST(in_service AS DATE) AS first,
  CAST(CAST(in_service AS DATE) + to_months(life_months) AS DATE) AS before_,
  CAST(in_service AS DATE) AS shown_from, CAST(CAST(in_service AS DATE) + to_months(life_months) AS DATE) AS shown_to,
  in_units(price) - in_units(salvage) AS whole, currency, 'hardware' AS origin, 'compute' AS category, 'Depreciation' AS service,
  resource_id AS resource, 'depreciation of ' || machine_id AS description, CAST(NULL AS VARCHAR) AS tags
FROM hardware_rows WHERE method = 'straight'
UNION ALL
SELECT h.delivery, h.source, h.line, 0, CAST(CAST(h.in_service AS DATE) + to_months(d.month) AS DATE),
  CAST(CAST(h.in_service AS DATE) + to_months(d.month + 1) AS DATE), DATE '1970-01-01', DATE '2299-01-01',
  d.lost, h.currency, 'hardware', 'compute', 'Depreciation', h.resource_id,
  'depreciation of ' || h.machine_id || ', month ' || (d.month + 1) || ' of ' || h.life_months, NULL
FROM hardware_rows h JOIN declining_months d ON d.delivery = h.delivery AND d.line = h.line
UNION ALL
SELECT r.delivery, r.source, r.line, r.cost.component, m.first, m.before_, CAST(r.in_service AS DATE), coalesce(CAST(r.retired AS DATE), DATE '2299-01-01'),
  in_units(r.cost.amount), r.currency, 'hardware', 'facility', upper(r.cost.what[1]) || r.cost.what[2:], r.resource_id, r.cost.what || ' of ' || r.machine_id, NULL
FROM running r, laid_months m WHERE r.cost.amount <> 0
UNION ALL
SELECT t.delivery, t.source, t.line, 0, m.first, m.before_, t.first_day, t.end_day,
  CASE t.unit WHEN 'hour' THEN in_units(t.cost) * 24 * (m.before_ - m.first) ELSE in_units(t.cost) END,
  t.currency, 'licence', 'licence', t.licence || ' (per ' || t.per || ')', t.machine_id, t.licence || ', per ' || t.per || ' x ' || t.quantity, t.tags
FROM terms t, laid_months m WHERE t.unit IN ('month', 'hour')
UNION ALL
SELECT delivery, source, line, 0, CAST(first_day + to_years(year) AS DATE), CAST(first_day + to_years(year + 1) AS DATE), first_day, end_day,
  in_units(cost), currency, 'licence', 'licence', licence || ' (per ' || per || ')', machine_id, licence || ', per ' || per || ' x ' || quantity, tags
FROM years WHERE first_day + to_years(year) < end_day
UNION ALL
SELECT delivery, source, line, 0, first_day, end_day, first_day, end_day,
  in_units(cost), currency, 'licence', 'licence', licence || ' (per ' || per || ')', machine_id, licence || ', per ' || per || ' x ' || quantity, tags
FROM terms WHERE unit = 'term'
UNION ALL
SELECT delivery, source, line, 0, CAST(started AS DATE), CAST(ended AS DATE), CAST(started AS DATE), CAST(ended AS DATE),
  in_units(amount), currency, 'invoice', category, vendor, machine_id, coalesce(description, vendor) || coalesce(' (' || invoice || ')', ''), tags
FROM invoice_rows
