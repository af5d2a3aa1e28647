"""Google Cloud's export in every shape, against a plain model: every line and credit is in the account exactly once."""

import csv
import json
from collections import defaultdict
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import pytest
from test_bill_pairs import charges_of

SAMPLE = Path(__file__).parents[4] / "shared" / "data" / "bills" / "gcp-made-up" / "sample_billing_data.csv"
COLUMNS = [
    "line",
    "billed",
    "effective",
    "contracted",
    "charge_category",
    "account",
    "tags",
    "commitment_status",
    "note",
]
COVERING = ("COMMITTED_USAGE_DISCOUNT", "COMMITTED_USAGE_DISCOUNT_DOLLAR_BASE")
PART_OF_THE_LINE = (*COVERING, "DISCOUNT", "SUSTAINED_USAGE_DISCOUNT", "FEE_UTILIZATION_OFFSET")
NESTED = ("service", "sku", "project", "location", "usage", "invoice")
UNIT = Decimal("1e-12")
Row = dict[str, Any]


def made_rows(seed: int) -> list[Row]:
    """Return lines of two regions with fees, covered and partly covered usage, credits of all types and no credits."""
    random, rows = Random(seed), []
    for _ in range(random.randint(8, 40)):
        region, hours = random.choice(("us-central1", "europe-west4")), random.randint(1, 400)
        cost = Decimal(random.randint(1, 10**6)).scaleb(-random.randint(0, 9))
        is_fee, credits = random.random() < 0.2, []
        if not is_fee and random.random() < 0.5:
            covered = cost if random.random() < 0.7 else cost / 4
            credits.append((COVERING[0], -covered))
        if random.random() < 0.4:
            credits.append((random.choice(("PROMOTION", "FREE_TIER", "DISCOUNT", "NEW")), -cost / 8))
        sku = "Commitment v1: Nvidia H100 80GB GPU in X for 1 Year" if is_fee else "Nvidia H100 80GB GPU running in X"
        rows.append(
            {
                "billing_account_id": "01-AB",
                "service": {"id": "6F81", "description": "Compute Engine"},
                "sku": {"id": "S", "description": sku},
                "usage_start_time": "2026-10-05 00:00:00 UTC",
                "usage_end_time": "2026-10-05 01:00:00 UTC",
                "project": {"id": f"p{random.randint(1, 3)}"},
                "location": {"region": region},
                "labels": [{"key": "team", "value": random.choice("ab")}],
                "cost": float(cost),
                "currency": "USD",
                "usage": {"amount_in_pricing_units": float(hours), "pricing_unit": "hour"},
                "credits": [{"name": type_, "amount": float(amount), "type": type_} for type_, amount in credits],
                "invoice": {"month": "202610"},
                "cost_type": "regular",
            }
        )
    return rows


def exact(number: float) -> Decimal:
    return Decimal(repr(number))


def rounded(amount: Decimal) -> Decimal:
    return amount.quantize(UNIT, ROUND_HALF_UP)


def floor_of(units: int, weight: int, total: int) -> int:
    return -(-units * weight // total) if units < 0 else units * weight // total


def model(rows: list[Row]) -> list[tuple[int, Decimal, Decimal]]:
    """Return line, billed and effective of every charge, computed in plain Python."""
    nets, weights, pools = [], [], defaultdict(list)
    for number, row in enumerate(rows):
        folded = [exact(one["amount"]) for one in row["credits"] if one["type"] in PART_OF_THE_LINE]
        covered = -sum(exact(one["amount"]) for one in row["credits"] if one["type"] in COVERING)
        nets.append(exact(row["cost"]) + sum(folded))
        hours = row["usage"]["amount_in_pricing_units"]
        weights.append(round(hours * 10**9 * float(covered) / row["cost"]) if covered else 0)
        pools[row["location"]["region"]].append(number)
    found = []
    for numbers in pools.values():
        fees = {n: int(rounded(nets[n]) / UNIT) for n in numbers if rows[n]["sku"]["description"].startswith("Commit")}
        owed = sum(int(rows[n]["usage"]["amount_in_pricing_units"] * 10**9) for n in fees)
        used = sum(weights[n] for n in numbers if n not in fees)
        total, fee, so_far, fee_so_far = max(used, owed), sum(fees.values()), 0, 0
        for n in numbers:
            line = (n + 1) * 1000
            if n in fees:
                taken = floor_of(fee_so_far + fees[n], used, total) - floor_of(fee_so_far, used, total)
                fee_so_far += fees[n]
                found.append((line, rounded(nets[n]), Decimal(0)))
                if fees[n] - taken:
                    found.append((line + 1, Decimal(0), (fees[n] - taken) * UNIT))
            else:
                share = floor_of(fee, so_far + weights[n], total) - floor_of(fee, so_far, total) if weights[n] else 0
                so_far += weights[n]
                found.append((line, rounded(nets[n]), rounded(nets[n] + share * UNIT)))
            separate = [exact(one["amount"]) for one in rows[n]["credits"] if one["type"] not in PART_OF_THE_LINE]
            found += [(line + 2 + at, rounded(amount), rounded(amount)) for at, amount in enumerate(separate)]
    return sorted(found)


def write_json_lines(rows: list[Row], folder: Path) -> Path:
    (path := folder / "lines.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def write_json_objects(rows: list[Row], folder: Path) -> Path:
    (path := folder / "objects.json").write_text("\n".join(json.dumps(row, indent=1) for row in rows))
    return path


def write_json_list(rows: list[Row], folder: Path) -> Path:
    (path := folder / "list.json").write_text(json.dumps(rows))
    return path


def write_parquet(rows: list[Row], folder: Path) -> Path:
    origin = f"read_json('{write_json_lines(rows, folder)}', format = 'newline_delimited')"
    times = "CAST(usage_start_time AS TIMESTAMPTZ) AS usage_start_time, CAST(usage_end_time AS TIMESTAMPTZ) AS usage_end_time"
    credits = "CAST(credits AS STRUCT(name VARCHAR, amount DOUBLE, type VARCHAR)[]) AS credits"
    duckdb.execute(
        f"COPY (SELECT * REPLACE ({times}, {credits}) FROM {origin}) TO '{folder / 'rows.parquet'}' (FORMAT parquet)"
    )
    return folder / "rows.parquet"


def write_csv(rows: list[Row], path: Path, mark: str, as_text: Any) -> Path:
    flat = [
        {f"{name}{mark}{child}": value for name in NESTED for child, value in row[name].items()}
        | {
            name: as_text(value) if isinstance(value, list) else value
            for name, value in row.items()
            if name not in NESTED
        }
        for row in rows
    ]
    with path.open("w", newline="") as opened:
        writer = csv.DictWriter(opened, list(flat[0]))
        writer.writeheader()
        writer.writerows(flat)
    return path


SHAPES = {
    "JSON lines": write_json_lines,
    "JSON objects": write_json_objects,
    "JSON list": write_json_list,
    "Parquet": write_parquet,
    "dotted CSV with Python lists": lambda rows, folder: write_csv(rows, folder / "dotted.csv", ".", repr),
    "underscored CSV with JSON": lambda rows, folder: write_csv(rows, folder / "underscored.csv", "_", json.dumps),
}


@pytest.mark.parametrize("seed", range(6))
def test_every_line_and_credit_is_charged_once_as_the_model_says(seed: int, tmp_path: Path) -> None:
    rows = made_rows(seed)
    found = charges_of(write_json_lines(rows, tmp_path), tmp_path, ["line", "billed", "effective"])
    charged = [(int(line), Decimal(billed), Decimal(effective)) for line, billed, effective in found]
    assert charged == model(rows)
    assert sum(billed for _, billed, _ in charged) == sum(effective for _, _, effective in charged)


def test_cost_plus_credits_is_the_invoice(tmp_path: Path) -> None:
    rows = made_rows(100)
    invoice = sum(exact(row["cost"]) + sum(exact(one["amount"]) for one in row["credits"]) for row in rows)
    (billed,) = charges_of(write_json_lines(rows, tmp_path), tmp_path, ["billed"])[:1]
    total = sum(Decimal(billed) for (billed,) in charges_of(write_json_lines(rows, tmp_path), tmp_path, ["billed"]))
    finer = sum(int(count) for (count,) in charges_of(write_json_lines(rows, tmp_path), tmp_path, ["finer"]))
    assert billed
    assert abs(total - invoice) <= finer * UNIT
    assert finer or total == invoice


@pytest.mark.parametrize("seed", range(3))
def test_every_shape_gives_the_same_charges(seed: int, tmp_path: Path) -> None:
    rows = made_rows(seed + 50)
    found = {shape: charges_of(write(rows, tmp_path), tmp_path, COLUMNS) for shape, write in SHAPES.items()}
    assert len(found["JSON lines"]) >= len(rows)
    for shape, charges in found.items():
        assert charges == found["JSON lines"], shape


@pytest.mark.skipif(not SAMPLE.exists(), reason="the public data is not available")
def test_the_published_sample_is_read_with_its_unknown_words(tmp_path: Path) -> None:
    """500 made-up lines in four currencies, some with words that Google does not use."""
    with SAMPLE.open(newline="") as opened:
        rows = list(csv.DictReader(opened))
    expected: dict[tuple[str, str], Decimal] = defaultdict(Decimal)
    for row in rows:
        amounts = [exact(one["amount"]) for one in json.loads(row["credits"] or "[]")]
        expected[row["currency"], f"{row['invoice_month'][:4]}-{row['invoice_month'][4:]}-01"] += Decimal(row["cost"])
        expected[row["currency"], f"{row['invoice_month'][:4]}-{row['invoice_month'][4:]}-01"] += sum(amounts)
    found: dict[tuple[str, str], Decimal] = defaultdict(Decimal)
    month = "CAST(billing_month(billing_start, billing_end) AS VARCHAR)"
    charges = charges_of(SAMPLE, tmp_path, ["currency", month, "billed", "note"])
    for currency, of_month, billed, _ in charges:
        found[currency, of_month] += Decimal(billed)
    assert found == expected
    assert len(found) > 4
    notes = {note for *_, note in charges if note}
    assert "unknown cost type roundoff, an Adjustment" in notes
    assert "unknown credit type SUSTAINED_USE_DISCOUNT, kept as a Credit" in notes
