-- Create empty tables for the events of a game day.
-- Times are seconds since 1970, money is whole units of 10^-12, prices are units per GPU second.
CREATE TABLE machines (
  name VARCHAR, resource_id VARCHAR, pool VARCHAR, gpus BIGINT, since BIGINT, until BIGINT, is_surplus BOOLEAN
);
CREATE TABLE attempts (
  number BIGINT, job_id VARCHAR, attempt BIGINT, pool VARCHAR, gpus BIGINT, started BIGINT, ended BIGINT, state VARCHAR,
  load BIGINT, "interval" BIGINT, saving BIGINT, done BIGINT, work BIGINT, saved BIGINT, reached BIGINT, nodes VARCHAR
);
CREATE TABLE placements (number BIGINT, machine VARCHAR);
CREATE TABLE jobs (
  job_id VARCHAR, owner VARCHAR, team VARCHAR, project VARCHAR, experiment VARCHAR, cost_center VARCHAR,
  bill VARCHAR, account VARCHAR, region VARCHAR, home VARCHAR, reads_remotely BOOLEAN
);
CREATE TABLE pools (
  pool VARCHAR, bill VARCHAR, account VARCHAR, region VARCHAR, market VARCHAR, instance VARCHAR, gpus BIGINT,
  capacity BIGINT, list_price BIGINT, price BIGINT, cluster VARCHAR, model VARCHAR, cpus BIGINT, memory_gb BIGINT
);
CREATE TABLE prices (pool VARCHAR, hour BIGINT, price BIGINT);
CREATE TABLE services (
  kind VARCHAR, bill VARCHAR, account VARCHAR, region VARCHAR, name VARCHAR, effective BIGINT,
  service_category VARCHAR, service VARCHAR, tags VARCHAR
);
CREATE TABLE labor (
  day BIGINT, person VARCHAR, hours BIGINT, rate BIGINT, project VARCHAR, true_hours BIGINT, true_project VARCHAR
);
CREATE TABLE licenses (license VARCHAR, price BIGINT, started BIGINT, ended BIGINT);
CREATE TABLE local_senders (job_id VARCHAR);
CREATE TABLE shared_cost_parts (job_id VARCHAR, units HUGEINT);
CREATE MACRO as_money(units) AS CAST(CAST(units AS HUGEINT) * 0.000000000001::DECIMAL(12,12) AS DECIMAL(38,12));
CREATE MACRO utc_text(second) AS strftime(make_timestamp(CAST(second AS BIGINT) * 1000000), '%Y-%m-%dT%H:%M:%SZ');
