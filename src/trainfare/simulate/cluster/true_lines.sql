-- Compute every line of both correct bills, in whole units of 10^-12, before any fault is injected.
-- In: machine_hours, held_hours, prices, pools, machines, jobs, services.
WITH job_days AS (
  SELECT h.job_id, j.bill, j.account, j.region, j.home, j.team, j.reads_remotely, h.hour // 86400 * 86400 AS day,
    sum(h.gpu_seconds) AS gpu_seconds
  FROM held_hours h JOIN jobs j ON j.job_id = h.job_id GROUP BY ALL
),
days AS (
  SELECT d.day FROM unnest(range({{start}}, {{end}}, 86400)) AS d(day)
),
compute AS (
  SELECT 'machine' AS kind, p.bill, p.account, p.region, h.hour AS starts, h.hour + 3600 AS ends,
    h.gpus * h.seconds * r.price AS effective,
    CASE WHEN p.market = 'reserved' THEN 0 ELSE h.gpus * h.seconds * r.price END AS billed,
    h.gpus * h.seconds * p.list_price AS list,
    'Compute' AS service_category, 'Virtual Machines' AS service, m.resource_id, m.name AS resource_name,
    'vm-' || p.instance || '-' || p.market AS sku,
    CASE p.market WHEN 'reserved' THEN 'Committed' WHEN 'spot' THEN 'Dynamic' ELSE 'Standard' END AS pricing,
    CASE WHEN p.market = 'reserved' THEN 'ri-' || p.pool END AS commitment_id,
    CASE WHEN p.market = 'reserved' THEN 'Used' END AS commitment_status,
    '{"InstanceType":"' || p.instance || '"}' AS details, NULL AS tags, p.instance || ' hours' AS description,
    NULL AS job_id
  FROM machine_hours h
  JOIN pools p ON p.pool = h.pool
  JOIN machines m ON m.name = h.name
  JOIN prices r ON r.pool = h.pool AND r.hour = h.hour
),
disks AS (
  SELECT 'disk' AS kind, p.bill, p.account, p.region, h.hour // 86400 * 86400 AS starts,
    h.hour // 86400 * 86400 + 86400 AS ends, sum(h.gpus * h.seconds) * {{disk_price}} AS effective,
    effective AS billed, effective AS list, 'Storage' AS service_category, 'Block Storage' AS service, m.resource_id,
    m.name AS resource_name, 'disk' AS sku, 'Standard' AS pricing, NULL AS commitment_id, NULL AS commitment_status,
    NULL AS details, NULL AS tags, 'disk of a machine' AS description, NULL AS job_id
  FROM machine_hours h JOIN pools p ON p.pool = h.pool JOIN machines m ON m.name = h.name GROUP BY ALL
),
job_services AS (
  SELECT k.kind, d.bill, d.account, d.region, d.day AS starts, d.day + 86400 AS ends,
    d.gpu_seconds * k.price AS effective, effective AS billed, effective AS list, k.service_category, k.service,
    'arn:' || k.kind || ':' || d.region || '/' || d.job_id AS resource_id, k.kind || '-' || d.job_id AS resource_name,
    k.kind AS sku, 'Standard' AS pricing, NULL AS commitment_id, NULL AS commitment_status, NULL AS details,
    '{"job_id":"' || d.job_id || '"}' AS tags,
    k.kind || CASE WHEN k.is_remote THEN ' from ' || d.home || ' to ' || d.region ELSE '' END AS description, d.job_id
  FROM job_days d JOIN (VALUES
    ('checkpoints', 'Storage', 'Object Storage', 22000000, false),
    ('requests', 'Storage', 'Object Storage Requests', 14000000, false),
    ('egress', 'Networking', 'Data Transfer', 160000000, true)
  ) k(kind, service_category, service, price, is_remote) ON d.reads_remotely OR NOT k.is_remote
),
unused AS (
  SELECT 'unused' AS kind, p.bill, p.account, p.region, h.hour AS starts, h.hour + 3600 AS ends,
    (3600 * p.capacity * p.gpus - coalesce(u.used, 0)) * p.price AS effective, 0 AS billed, 0 AS list,
    'Compute' AS service_category, 'Virtual Machines' AS service, 'arn:reservation/' || p.pool AS resource_id,
    p.pool AS resource_name, 'vm-' || p.instance || '-reserved' AS sku, 'Committed' AS pricing,
    'ri-' || p.pool AS commitment_id, 'Unused' AS commitment_status, NULL AS details, NULL AS tags,
    'unused reservation' AS description, NULL AS job_id
  FROM pools p CROSS JOIN (SELECT unnest(range({{start}}, {{end}}, 3600)) AS hour) h
  LEFT JOIN (SELECT pool, hour, sum(gpus * seconds) AS used FROM machine_hours GROUP BY pool, hour) u
    ON u.pool = p.pool AND u.hour = h.hour
  WHERE p.market = 'reserved' AND coalesce(u.used, 0) < 3600 * p.capacity * p.gpus
),
purchase AS (
  SELECT 'purchase' AS kind, bill, account, region, {{start}} AS starts, {{end}} AS ends, 0 AS effective,
    ({{end}} - {{start}}) * capacity * gpus * price AS billed, billed AS list, 'Compute' AS service_category,
    'Virtual Machines' AS service, 'arn:reservation/' || pool AS resource_id, pool AS resource_name,
    'vm-' || instance || '-reserved' AS sku, 'Standard' AS pricing, 'ri-' || pool AS commitment_id,
    NULL AS commitment_status, NULL AS details, NULL AS tags, 'monthly fee of a reservation' AS description,
    NULL AS job_id
  FROM pools WHERE market = 'reserved'
),
daily AS (
  SELECT t.kind, t.bill, t.account, t.region, d.day AS starts, d.day + 86400 AS ends, t.effective,
    t.effective AS billed, t.effective AS list, t.service_category, t.service,
    'arn:' || t.kind || ':' || t.region || '/' || t.name AS resource_id, t.name AS resource_name, t.kind AS sku,
    'Standard' AS pricing, NULL AS commitment_id, NULL AS commitment_status, NULL AS details, t.tags,
    t.kind || ' ' || t.name AS description, NULL AS job_id
  FROM services t CROSS JOIN days d
)
SELECT *, 'Usage' AS charge_category, CAST(NULL AS VARCHAR) AS charge_class FROM (
  SELECT * FROM compute UNION ALL SELECT * FROM disks UNION ALL SELECT * FROM job_services
  UNION ALL SELECT * FROM unused UNION ALL SELECT * FROM daily
)
UNION ALL SELECT *, 'Purchase', NULL FROM purchase
