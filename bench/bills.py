"""How long AWS reports take to read, next to the same lines as FOCUS: CPU seconds, and their ratio.

`python bench/bills.py --lines 10000000`. Reading is what a build does with a bill: check and archive it, and read every
column of its charges once. For CSV the engine's own read of the file is measured next to ours.
"""

import argparse
import resource
import tempfile
from collections.abc import Callable
from pathlib import Path

from trainfare.engine.duckdb import DuckDB
from trainfare.errors import Problems
from trainfare.sources.protocol import ArchivedFile, ReadOptions
from trainfare.sources.registry import recognize
from trainfare.tables import CHARGES

HOUR = "TIMESTAMP '2026-10-01' + to_hours(CAST(n % 744 AS INTEGER))"
COST = "CAST(((n * 7919) % 100000) / 10000 AS DOUBLE)"
ACCOUNT, MACHINE = "lpad(CAST(n % 12 AS VARCHAR), 12, '0')", "'i-' || (n % 5000)"
FOCUS = {
    "BilledCost": COST,
    "EffectiveCost": COST,
    "ListCost": f"{COST} * 2",
    "ContractedCost": COST,
    "BillingPeriodStart": "TIMESTAMP '2026-10-01'",
    "BillingPeriodEnd": "TIMESTAMP '2026-11-01'",
    "ChargePeriodStart": HOUR,
    "ChargePeriodEnd": f"{HOUR} + INTERVAL 1 HOUR",
    "BillingCurrency": "'USD'",
    "ChargeCategory": "'Usage'",
    "ServiceCategory": "'Compute'",
    "ServiceName": "'AmazonEC2'",
    "ProviderName": "'AWS'",
    "BillingAccountId": "'999888777666'",
    "SubAccountId": ACCOUNT,
    "RegionId": "'us-east-1'",
    "ResourceId": MACHINE,
    "SkuId": "'SKU' || (n % 40)",
    "PricingCategory": "'Standard'",
    "SkuPriceDetails": '\'{"InstanceType":"p5.48xlarge"}\'',
    "ChargeDescription": "'p5.48xlarge instance hour'",
    "Tags": "MAP {'team': 'team-' || (n % 9)}",
}
CUR = {
    "line_item_unblended_cost": COST,
    "pricing_public_on_demand_cost": f"{COST} * 2",
    "bill_billing_period_start_date": FOCUS["BillingPeriodStart"],
    "bill_billing_period_end_date": FOCUS["BillingPeriodEnd"],
    "line_item_usage_start_date": HOUR,
    "line_item_usage_end_date": FOCUS["ChargePeriodEnd"],
    "line_item_currency_code": "'USD'",
    "line_item_line_item_type": "CASE WHEN n % 5 = 0 THEN 'SavingsPlanCoveredUsage' ELSE 'Usage' END",
    "savings_plan_savings_plan_effective_cost": f"CASE WHEN n % 5 = 0 THEN {COST} END",
    "line_item_product_code": "'AmazonEC2'",
    "line_item_usage_type": "'BoxUsage:p5.48xlarge'",
    "line_item_operation": "'RunInstances'",
    "bill_payer_account_id": "'999888777666'",
    "line_item_usage_account_id": ACCOUNT,
    "product_region_code": "'us-east-1'",
    "line_item_resource_id": MACHINE,
    "product_sku": FOCUS["SkuId"],
    "line_item_line_item_description": FOCUS["ChargeDescription"],
    "resource_tags": "MAP {'user_team': 'team-' || (n % 9)}",
}


def write(columns: dict[str, str], path: Path, lines: int) -> None:
    values = ", ".join(
        f'{sql} AS "{name}"' for name, sql in columns.items() if path.suffix != ".csv" or "MAP" not in sql
    )
    select = f"SELECT {values} FROM (SELECT unnest(range({lines})) AS n)"
    DuckDB().run(f"COPY ({select}) TO '{path}' (FORMAT {path.suffix[1:]})")


def cpu_seconds(work: Callable[[], None]) -> float:
    before = resource.getrusage(resource.RUSAGE_SELF)
    work()
    after = resource.getrusage(resource.RUSAGE_SELF)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def read(path: Path) -> None:
    """Check and archive a bill, and read every column of its charges."""
    engine, problems = DuckDB(), Problems()
    source, head = recognize(engine, path)
    file = ArchivedFile(path.with_suffix(".archived.parquet"), 1, "bench")
    source.archive(engine, head, file.location, ReadOptions(), problems)
    problems.raise_if_any()
    columns = ", ".join(f"last({name})" for name in CHARGES.names)
    engine.rows(f"SELECT {columns} FROM ({source.rows(engine, file, ReadOptions(), CHARGES)})")
    engine.close()


def scan(path: Path) -> None:
    engine = DuckDB()
    engine.rows(f"SELECT last(COLUMNS(*)) FROM read_csv('{path}', all_varchar = true)")
    engine.close()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--lines", type=int, default=1_000_000)
    lines = parser.parse_args().lines
    with tempfile.TemporaryDirectory() as folder:
        for suffix in ("parquet", "csv"):
            focus, cur = Path(folder) / f"focus.{suffix}", Path(folder) / f"cur.{suffix}"
            write(FOCUS, focus, lines)
            write(CUR, cur, lines)
            one, other = cpu_seconds(lambda path=focus: read(path)), cpu_seconds(lambda path=cur: read(path))  # type: ignore[misc]
            print(f"{suffix:8} {lines:>12,} lines  FOCUS {one:7.1f} s  CUR {other:7.1f} s  ratio {other / one:.2f}")
            if suffix == "csv":
                plain = cpu_seconds(lambda path=cur: scan(path))  # type: ignore[misc]
                print(
                    f"{'':8} {'':>12}        the engine's own read of the CSV {plain:7.1f} s  ratio {other / plain:.2f}"
                )


if __name__ == "__main__":
    main()
