"""Measure how fast a month is built, side by side with other methods, on the same files.

    python bench/attribution.py [--machines 5000] [--skip-pandas]

Generates a month (5,000 machines x 720 h x 3 lines = 10.8 million charges, 1.1 million placements) and prints for each
method: wall seconds, processor seconds, peak memory, and both times relative to the bare scan. The methods:

    bare         DuckDB: sum(EffectiveCost) group by machine, hour of the same Parquet
    bare4        DuckDB: all four costs, group by machine, hour, category: the minimum for an account on all bases
    build        `trainfare build`: all four costs, all rules, exact, with findings, published
    measured     the same with measurements of every placement: use by day, lost work, egress by pair of regions
    polars       the same result by hand in Polars: floats, one hard-coded rule, no checks, no lineage, nothing written
    polars-mem   the same with Polars' in-memory engine instead of the streaming one
    pandas       the same in pandas
    growth       `trainfare build` of a tenth of the machines, for the time per line
"""

import argparse
import importlib
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Literal

from generated import GeneratedMonth, generate_measurements, generate_month

HOUR = 3600


def bare(bill: Path, costs: str, keys: str) -> None:
    import duckdb

    duckdb.execute(
        f"SELECT count(*) FROM (SELECT {keys}, {costs} FROM '{bill}' GROUP BY ALL) WHERE cost IS NOT NULL"
    ).fetchall()


COSTS = ("EffectiveCost", "BilledCost", "ListCost", "ContractedCost")


def polars_by_hand(bill: Path, jobs: Path, engine: Literal["streaming", "in-memory"]) -> float:
    """Return all four costs per job, machine, day and category: hours split by GPU seconds held, the rest idle."""
    import polars as pl

    pots = (
        pl.scan_parquet(bill)
        .with_columns(
            machine=pl.col("ResourceId").str.split("/").list.last(),
            hour=pl.col("ChargePeriodStart").dt.epoch("s") // HOUR,
            category=pl.col("ServiceCategory"),
        )
        .group_by("machine", "hour", "category")
        .agg(pl.col(cost).cast(pl.Float64).sum() for cost in COSTS)
    )
    held = (
        pl.scan_parquet(jobs)
        .with_columns(
            s=pl.col("started").dt.epoch("s"), e=pl.col("ended").dt.epoch("s"), gpus=pl.col("gpus").cast(pl.Float64)
        )
        .with_columns(hour=pl.int_ranges(pl.col("s") // HOUR, (pl.col("e") + HOUR - 1) // HOUR))
        .explode("hour")
        .with_columns(
            weight=pl.col("gpus")
            * (pl.min_horizontal("e", (pl.col("hour") + 1) * HOUR) - pl.max_horizontal("s", pl.col("hour") * HOUR))
        )
        .select("job_id", machine="machine_id", hour="hour", weight="weight")
    )
    keys = ["machine", "hour"]
    idle = (
        pots.select(keys)
        .unique()
        .join(held.group_by(keys).agg(pl.col("weight").sum()), on=keys, how="left")
        .select(
            pl.lit("__idle__").alias("job_id"), "machine", "hour", weight=8.0 * HOUR - pl.col("weight").fill_null(0.0)
        )
    )
    shares = (
        pl.concat([held, idle])
        .join(pots, on=keys)
        .with_columns(pl.col(cost) * pl.col("weight") / (8 * HOUR) for cost in COSTS)
        .group_by("job_id", "machine", (pl.col("hour") // 24).alias("day"), "category")
        .agg(pl.col(cost).sum() for cost in COSTS)
    )
    return float(shares.collect(engine=engine).select(pl.col("EffectiveCost").sum()).item())


def pandas_by_hand(bill: Path, jobs: Path) -> float:
    """Return the same, computed in pandas."""
    import numpy as np
    import pandas as pd

    lines = pd.read_parquet(bill, columns=["ResourceId", "ChargePeriodStart", "ServiceCategory", *COSTS])
    lines["hour"] = lines.pop("ChargePeriodStart").astype("datetime64[s, UTC]").astype("int64") // HOUR
    for cost in COSTS:
        lines[cost] = lines[cost].astype("float64")
    lines["machine"] = lines.pop("ResourceId").astype("category")
    lines["category"] = lines.pop("ServiceCategory").astype("category")
    pots = lines.groupby(["machine", "hour", "category"], observed=True)[list(COSTS)].sum().reset_index()
    del lines
    pots["machine"] = pots["machine"].cat.rename_categories(lambda name: name.rsplit("/", 1)[-1]).astype(str)
    held = pd.read_parquet(jobs, columns=["job_id", "machine_id", "started", "ended", "gpus"])
    s = held["started"].astype("datetime64[s, UTC]").astype("int64").to_numpy()
    e = held["ended"].astype("datetime64[s, UTC]").astype("int64").to_numpy()
    first, count = s // HOUR, (e + HOUR - 1) // HOUR - s // HOUR
    row = np.repeat(np.arange(len(held)), count)
    hour = np.arange(count.sum()) - np.repeat(count.cumsum() - count, count) + first[row]
    seconds = np.minimum(e[row], (hour + 1) * HOUR) - np.maximum(s[row], hour * HOUR)
    cells = pd.DataFrame(
        {
            "job_id": held["job_id"].to_numpy()[row],
            "machine": held["machine_id"].to_numpy()[row],
            "hour": hour,
            "weight": seconds * held["gpus"].astype("float64").to_numpy()[row],
        }
    )
    used = cells.groupby(["machine", "hour"])["weight"].sum()
    idle = pots[["machine", "hour"]].drop_duplicates().set_index(["machine", "hour"])
    idle["weight"] = 8.0 * HOUR - used.reindex(idle.index).fillna(0.0)
    idle = idle.reset_index().assign(job_id="__idle__")
    joined = pd.concat([cells, idle]).merge(pots, on=["machine", "hour"])
    for cost in COSTS:
        joined[cost] = joined[cost] * joined["weight"] / (8 * HOUR)
    joined["day"] = joined["hour"] // 24
    shares = joined.groupby(["job_id", "machine", "day", "category"], observed=True)[list(COSTS)].sum()
    return float(shares["EffectiveCost"].sum())


def build(made: GeneratedMonth, workspace: Path, *others: Path) -> None:
    """Run `trainfare build` in this process."""
    from trainfare.books.build import build_books
    from trainfare.settings.config import load
    from trainfare.store import Store

    sources = "".join(
        f'[[source]]\npath = "{path.resolve()}"\n' for path in (made.bill, made.jobs, made.machines, *others)
    )
    workspace.mkdir(parents=True, exist_ok=True)
    (workspace / "trainfare.toml").write_text(sources, encoding="utf-8")
    config = load(workspace / "trainfare.toml")
    with Store.open(workspace, config.catalog) as store:
        build_books(config, store)


def measured(method: str, folder: Path) -> tuple[float, float, float]:
    """Run one method in its own process; return wall seconds, processor seconds and peak GB, without startup."""
    command = [sys.executable, __file__, "--method", method, "--folder", str(folder)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    wall, processor, peak = (float(number) for number in done.stdout.split()[-3:])
    return wall, processor, peak


def run_method(method: str, folder: Path) -> None:
    """Run one method and print its three figures."""
    made = GeneratedMonth(folder / "bill.parquet", folder / "jobs.parquet", folder / "machines.parquet", 0, 0)
    modules = {"bare": "duckdb", "bare4": "duckdb", "polars": "polars", "polars-mem": "polars", "pandas": "pandas"}
    importlib.import_module(modules.get(method, "trainfare.books.build"))
    if method in ("build", "measured"):
        importlib.import_module("trainfare.store.catalog")
    started, before = time.monotonic(), os.times()
    if method == "bare":
        bare(made.bill, "sum(EffectiveCost) AS cost", "ResourceId, ChargePeriodStart")
    elif method == "bare4":
        costs = "sum(EffectiveCost) AS cost, sum(BilledCost) AS b, sum(ListCost) AS l, sum(ContractedCost) AS c"
        bare(made.bill, costs, "ResourceId, ChargePeriodStart, ServiceCategory")
    elif method == "polars":
        polars_by_hand(made.bill, made.jobs, "streaming")
    elif method == "polars-mem":
        polars_by_hand(made.bill, made.jobs, "in-memory")
    elif method == "pandas":
        pandas_by_hand(made.bill, made.jobs)
    else:
        with tempfile.TemporaryDirectory(dir=folder) as workspace:
            build(made, Path(workspace), *([folder / "measurements.parquet"] if method == "measured" else []))
    after = os.times()
    processor = after.user + after.system - before.user - before.system
    print(time.monotonic() - started, processor, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--machines", type=int, default=5000)
    parser.add_argument("--skip-pandas", action="store_true")
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--method", help="run only this one, on the files in --folder")
    options = parser.parse_args()
    if options.method:
        run_method(options.method, options.folder)
        return
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.folder or Path(scratch)
        large, small = folder / "large", folder / "small"
        made = generate_month(large, options.machines)
        tenth = generate_month(small, options.machines // 10)
        generate_measurements(made.jobs, large / "measurements.parquet")
        print(f"{made.lines:,} charges, {made.placements:,} placements, {os.cpu_count()} cores", flush=True)
        measured("bare", large)
        base = measured("bare", large)
        methods = ["bare4", "build", "measured", "polars", "polars-mem", *([] if options.skip_pandas else ["pandas"])]
        print(f"{'':14}{'wall s':>8}{'cpu s':>8}{'peak GB':>9}{'wall / bare':>13}{'cpu / bare':>12}")
        for name in ["bare", *methods]:
            wall, processor, peak = base if name == "bare" else measured(name, large)
            print(
                f"{name:14}{wall:8.1f}{processor:8.1f}{peak:9.2f}{wall / base[0]:13.1f}{processor / base[1]:12.1f}",
                flush=True,
            )
            if name == "build":
                full = wall
        part, _, _ = measured("build", small)
        print(
            f"growth: {made.lines / tenth.lines:.1f} times the lines in {full / part:.1f} times the time "
            f"({part:.1f} s -> {full:.1f} s)"
        )


if __name__ == "__main__":
    main()
