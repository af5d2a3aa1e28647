"""Bad files that cannot stand in a repository as text: each is made by its recipe."""

import gzip
import random
import zipfile
from collections.abc import Callable
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

GOOD = Path(__file__).parent / "good"
Recipe = Callable[[Path], None]

BILL = {
    "BilledCost": "CAST(8 AS DOUBLE)",
    "EffectiveCost": "CAST(8 AS DOUBLE)",
    "BillingCurrency": "'USD'",
    "ChargePeriodStart": "TIMESTAMP '2026-10-01 00:00:00'",
    "ChargePeriodEnd": "TIMESTAMP '2026-10-01 04:00:00'",
}
JOBS = {
    "job_id": "'a'",
    "attempt": "1",
    "machine_id": "'n1'",
    "started": "TIMESTAMP '2026-10-01 00:00:00'",
    "ended": "TIMESTAMP '2026-10-01 02:00:00'",
    "gpus": "4",
}
MEASURED = {
    "job_id": "'a'",
    "attempt": "1",
    "started": "TIMESTAMP '2026-10-01 00:00:00'",
    "measure": "'step'",
    "value": "CAST(12 AS DOUBLE)",
}


def parquet(good: dict[str, str], *rows: dict[str, str]) -> Recipe:
    """A Parquet file with one row per given difference from the good row."""

    def make(path: Path) -> None:
        selects = [", ".join(f'{value} AS "{name}"' for name, value in (good | row).items()) for row in rows]
        union = " UNION ALL ".join(f"SELECT {select}" for select in selects)
        duckdb.connect().execute(f"COPY ({union}) TO '{path}' (FORMAT parquet)")

    return make


def sixty_digits(path: Path) -> None:
    """A bill whose billed cost is wider than any decimal of DuckDB, which cannot write it."""
    parquet(BILL, {})(path)
    bill = pq.read_table(path)
    pq.write_table(bill.set_column(0, "BilledCost", bill["BilledCost"].cast(pa.decimal256(60, 18))), path)


def changed(make: Recipe, change: Callable[[bytes], bytes]) -> Recipe:
    """What `make` makes, with its bytes changed."""

    def remake(path: Path) -> None:
        make(path)
        path.write_bytes(change(path.read_bytes()))

    return remake


def written(content: bytes) -> Recipe:
    def make(path: Path) -> None:
        path.write_bytes(content)

    return make


def workbook(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as book:
        book.writestr("[Content_Types].xml", "<Types/>")
        book.writestr("xl/worksheets/sheet1.xml", "<worksheet/>")


def spoilt_pages(content: bytes) -> bytes:
    """Spoil the data and leave the footer, so that only reading the values shows it."""
    return content[:4] + b"\xff" * 300 + content[304:]


def random_bytes(size: int) -> bytes:
    return b"\x00" + random.Random(1).randbytes(size)


bill_text = (GOOD / "bill.csv").read_bytes()
lines = bill_text.splitlines()
packed = gzip.compress(bill_text * 2000, mtime=0)
many = parquet(BILL, *({"BilledCost": f"CAST({n} AS DOUBLE)"} for n in range(300)))

RECIPES: dict[str, dict[str, Recipe]] = {
    "bill": {
        "gzip_cut_off.bad.csv.gz": written(packed[: len(packed) // 2]),
        "gzip_wrong_checksum.bad.csv.gz": written(packed[:-8] + b"\0\0\0\0" + packed[-4:]),
        "gzip_of_nothing.bad.csv.gz": written(gzip.compress(b"", mtime=0)),
        "gzip_of_bad_rows.bad.csv.gz": written(gzip.compress(bill_text.replace(b"1.00,1.00", b"1.00,one"), mtime=0)),
        "parquet_in_gzip.bad.parquet.gz": changed(many, lambda content: gzip.compress(content, mtime=0)),
        "parquet_cut_off.bad.parquet": changed(many, lambda content: content[: len(content) // 2]),
        "parquet_pages_spoilt.bad.parquet": changed(many, spoilt_pages),
        "parquet_other_table.bad.parquet": parquet({"name": "'x'", "amount": "8"}, {}),
        "parquet_aws_cur.bad.parquet": parquet({"line_item_unblended_cost": "8", "line_item_resource_id": "'n1'"}, {}),
        "parquet_column_missing.bad.parquet": parquet({n: v for n, v in BILL.items() if n != "EffectiveCost"}, {}),
        "parquet_cost_true.bad.parquet": parquet(BILL, {"BilledCost": "true"}),
        "parquet_cost_text.bad.parquet": parquet(BILL, {"BilledCost": "'8.00'"}, {"BilledCost": "'8.00 USD'"}),
        "parquet_cost_nan.bad.parquet": parquet(
            BILL, *({"EffectiveCost": f"CAST('{word}' AS DOUBLE)"} for word in ("nan", "inf", "1e15", "8"))
        ),
        "parquet_cost_too_large.bad.parquet": parquet(BILL, {"BilledCost": "CAST(1000000000000000 AS DECIMAL(38,10))"}),
        "parquet_cost_of_sixty_digits.bad.parquet": sixty_digits,
        "parquet_cost_null.bad.parquet": parquet(BILL, {}, {"BilledCost": "NULL"}),
        "parquet_time_in_milliseconds.bad.parquet": parquet(BILL, {"ChargePeriodStart": "1790812800000"}),
        "parquet_time_of_day.bad.parquet": parquet(BILL, {"ChargePeriodStart": "TIME '12:00:00'"}),
        "parquet_time_infinite.bad.parquet": parquet(BILL, {}, {"ChargePeriodEnd": "CAST('infinity' AS TIMESTAMP)"}),
        "parquet_tags_without_keys.bad.parquet": parquet(BILL | {"Tags": "['team', 'nlp']"}, {}),
        "parquet_tags_a_list_of_maps.bad.parquet": parquet(BILL | {"Tags": "[MAP {'team': 'nlp'}]"}, {}),
        "parquet_tags_without_values.bad.parquet": parquet(BILL | {"Tags": "[{'key': 'team', 'name': 'nlp'}]"}, {}),
        "parquet_tags_json_list.bad.parquet": parquet(
            BILL,
            *({"Tags": f"CAST('{tags}' AS JSON)"} for tags in ('{"team": "nlp"}', '[{"key": "team", "value": "nlp"}]')),
        ),
        "parquet_column_twice_in_other_case.bad.parquet": changed(
            parquet(BILL | {"effectiveCXst": "1"}, {}),
            lambda content: content.replace(b"effectiveCXst", b"effectiveCost"),
        ),
        "parquet_column_file_row_number.bad.parquet": parquet(BILL | {"file_row_number": "7"}, {}),
        "carriage_returns.bad.csv": written(bill_text.replace(b"\n", b"\r")),
        "latin_1.bad.csv": written(bill_text.replace(b"nlp", "équipe".encode("latin-1"))),
        "latin_1_far_below.bad.csv": written(
            bill_text + lines[1].join([b"", b"\n"]) * 2000 + lines[1][:-1] + b"\xe9,\n"
        ),
        "utf_16.bad.csv": written(b"\xff\xfe" + bill_text.decode().encode("utf-16-le")),
        "utf_16_without_mark.bad.csv": written(bill_text.decode().encode("utf-16-le")),
        "no_text.bad.csv": written(random_bytes(2000)),
        "excel.bad.xlsx": workbook,
        "old_excel.bad.xls": written(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + random_bytes(500)),
        "invoice.bad.pdf": written(b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n"),
        "zstd.bad.csv.zst": written(b"(\xb5/\xfd" + random_bytes(100)),
        "mixed_line_ends.bad.csv": written(
            b"\r\n".join([*lines[:2], b""]) + b"8,8,USD,Usage,2026-10-01,2026-10-02,n1,{}\n" * 2
        ),
    },
    "jobs": {
        "parquet_jobs_wrong_types.bad.parquet": parquet(JOBS, {"gpus": "true", "machine_id": "['n1', 'n2']"}),
        "parquet_jobs_bad_values.bad.parquet": parquet(
            JOBS,
            {"job_id": "''", "attempt": "CAST(1.5 AS DOUBLE)", "gpus": "CAST(4 AS DOUBLE)"},
            {
                "attempt": "CAST('nan' AS DOUBLE)",
                "ended": "TIMESTAMP '2026-09-30 00:00:00'",
                "gpus": "CAST(-4 AS DOUBLE)",
            },
        ),
        "jobs_gzip_cut_off.bad.csv.gz": written(gzip.compress((GOOD / "jobs.csv").read_bytes(), mtime=0)[:-9]),
        "json_latin_1.bad.jsonl": written(
            b'{"job_id": "a", "machine_id": "n1"}\n{"job_id": "\xe9", "machine_id": "n1"}\n'
        ),
    },
    "machines": {
        "parquet_machines_wrong_types.bad.parquet": parquet({"machine_id": "'n1'", "gpus": "DATE '2026-10-01'"}, {}),
    },
    "usage": {
        "parquet_measured_wrong_types.bad.parquet": parquet(
            MEASURED, {"value": "true", "started": "TIME '12:00:00'", "job_id": "['a']"}
        ),
    },
    "settings": {
        "settings_latin_1.bad.toml": written('[labels]\nteam = ["équipe"]\n'.encode("latin-1")),
    },
}
