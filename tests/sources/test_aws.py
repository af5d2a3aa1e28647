"""AWS reports: every row becomes what a second implementation in plain Python says, in every encoding."""

import csv
import gzip
import io
import json
import re
import zipfile
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import duckdb
import pytest

from trainfare.cli import main
from trainfare.engine.duckdb import DuckDB
from trainfare.errors import Problems, TrainfareError
from trainfare.settings.config import SourceSettings
from trainfare.sources import counts
from trainfare.sources.bills import aws
from trainfare.sources.deliveries import source_files
from trainfare.sources.head import measure
from trainfare.sources.protocol import ArchivedFile, ReadOptions
from trainfare.sources.registry import recognize
from trainfare.tables import CHARGES

from .cur_model import DISCOUNTS, Expected, Row, expected, rows

CASES = Path(__file__).parent / "aws"
REAL = Path(__file__).parents[2].parent / "shared/data/bills/aws-cur/sample-anonymous-aws-export-dataset.csv"
COLUMNS = "line, charge_category, billed, effective, list, commitment_status, resource_id"
TIMES = ("StartDate", "EndDate")


def text_of(given: list[Row]) -> str:
    written = io.StringIO()
    writer = csv.DictWriter(written, list(given[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(given)
    return written.getvalue()


def as_csv(given: list[Row], path: Path) -> None:
    path.write_text(text_of(given), encoding="utf-8")


def as_gzip(given: list[Row], path: Path) -> None:
    path.write_bytes(gzip.compress(text_of(given).encode(), mtime=0))


def as_zip(given: list[Row], path: Path) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("report-1.csv", text_of(given))


def snake(name: str) -> str:
    """The name of a column in Parquet: `savingsPlan/SavingsPlanARN` is `savings_plan_savings_plan_a_r_n`."""
    return re.sub(r"_+", "_", re.sub(r"([A-Z])", r"_\1", re.sub(r"[/:]", "_", name)).lower()).strip("_")


def as_parquet(given: list[Row], path: Path, maps: bool = False) -> None:
    """Costs as DOUBLE and times as TIMESTAMP, as AWS writes them; with `maps` as CUR 2.0."""
    as_csv(given, path.with_suffix(".text"))
    columns = []
    for name in given[0]:
        if maps and name.startswith(("resourceTags/", "product/")):
            continue
        is_cost = "Cost" in name or "Fee" in name or "Commitment" in name
        type_ = "DOUBLE" if is_cost else "TIMESTAMP" if name.endswith(TIMES) else "VARCHAR"
        columns.append(f"CAST(nullif(\"{name}\", '') AS {type_}) AS {snake(name)}")
    if maps:
        tags = "CASE WHEN \"resourceTags/user:team\" <> '' THEN MAP {'user_team': \"resourceTags/user:team\"} ELSE MAP {} END"
        columns += [
            f"CAST({tags} AS MAP(VARCHAR, VARCHAR)) AS resource_tags",
            "MAP {'region': \"product/region\"} AS product",
        ]
    origin = f"read_csv('{path.with_suffix('.text')}', all_varchar = true, header = true)"
    duckdb.execute(f"COPY (SELECT {', '.join(columns)} FROM {origin}) TO '{path}' (FORMAT parquet)")


ENCODINGS: dict[str, tuple[str, Callable[[list[Row], Path], None]]] = {
    "report.csv": ("aws-cur", as_csv),
    "report.csv.gz": ("aws-cur", as_gzip),
    "report.csv.zip": ("aws-cur", as_zip),
    "report.snappy.parquet": ("aws-cur", as_parquet),
    "data.snappy.parquet": ("aws-cur-2", lambda given, path: as_parquet(given, path, maps=True)),
}


def read(path: Path, columns: str = COLUMNS) -> tuple[str, list[tuple[object, ...]]]:
    """Archive a report, count it independently, and return its charges."""
    engine, problems = DuckDB(), Problems()
    source, head = recognize(engine, path)
    file = ArchivedFile(path.with_name("archived.parquet"), 1, "aws")
    lines = source.archive(engine, head, file.location, ReadOptions(), problems)
    problems.raise_if_any()
    counts.require_all_read(engine, head, measure(head), (file.location, lines), problems)
    problems.raise_if_any()
    select = source.rows(engine, file, ReadOptions(), CHARGES)
    return source.NAME, engine.rows(f"SELECT {columns} FROM ({select}) ORDER BY line")


def plain(found: list[tuple[object, ...]]) -> list[Expected]:
    return [Expected(int(str(line)) // 1000, *rest) for line, *rest in found]  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ENCODINGS)
@pytest.mark.parametrize("has_net", [False, True], ids=["plain", "net"])
def test_every_row_becomes_what_the_model_says(name: str, has_net: bool, tmp_path: Path) -> None:
    given = rows(len(name) + has_net, 120, has_net)
    format_, write = ENCODINGS[name]
    write(given, tmp_path / name)
    found_format, found = read(tmp_path / name)
    assert found_format == format_
    assert plain(found) == expected(given)
    assert len(found) > 100


@pytest.mark.parametrize("seed", range(5))
def test_billed_cost_is_the_invoice_to_the_last_digit(seed: int, tmp_path: Path) -> None:
    """The invoice is the unblended cost of all rows: covered rows and negations cancel, split rows repeat others."""
    given = [row for row in rows(seed, 200) if row["lineItem/LineItemType"] != "DiscountedUsage"]
    covered = [row for row in given if row["lineItem/LineItemType"] == "SavingsPlanCoveredUsage"]
    negations = [row for row in given if row["lineItem/LineItemType"] == "SavingsPlanNegation"]
    for row, other in zip(negations, covered, strict=False):
        row["lineItem/UnblendedCost"] = f"-{other['lineItem/UnblendedCost']}"
    paired = [id(row) for pair in zip(negations, covered, strict=False) for row in pair]
    given = [row for row in given if id(row) in paired or row not in (*covered, *negations)]
    as_csv(given, tmp_path / "report.csv")
    _, found = read(tmp_path / "report.csv", "billed")
    invoice = sum(Decimal(row["lineItem/UnblendedCost"]) for row in given if row["lineItem/Operation"] != "EKSPod-EC2")
    assert sum(billed for (billed,) in found) == invoice  # type: ignore[misc]


def test_net_costs_and_discount_rows_are_never_both_effective(tmp_path: Path) -> None:
    given = rows(3, 120, has_net=True)
    as_csv(given, tmp_path / "report.csv")
    found = plain(read(tmp_path / "report.csv")[1])
    discounts = [one for one in found if given[one.row - 1]["lineItem/LineItemType"] in DISCOUNTS]
    assert discounts
    assert not any(one.effective for one in discounts)
    assert all(one.billed for one in discounts)


@pytest.mark.skipif(not REAL.exists(), reason="the shared data is not here")
def test_a_real_export_is_read_to_the_last_digit() -> None:
    """November 2023: 1,281 rows, not final, without resource ids."""
    engine, problems = DuckDB(), Problems()
    source, head = recognize(engine, REAL)
    assert source is aws.LEGACY
    raw = source.open(engine, head, "delivered", problems)  # type: ignore[union-attr]
    assert raw is not None
    select = aws.LEGACY.focus(raw)
    found = engine.row(f"SELECT count(*), sum(BilledCost), sum(EffectiveCost) FROM ({select})")
    assert found == (1281, Decimal("1.68230869740"), Decimal("1.68230869740"))


def test_cases_are_read_as_recorded(tmp_path: Path) -> None:
    """One quirk each, stated in the file's name. To record a new case, write its expected file by hand."""
    cases = sorted(CASES.glob("*.csv"))
    assert len(cases) >= 12
    for case in cases:
        (tmp_path / case.stem).mkdir()
        copied = tmp_path / case.stem / "report.csv"
        copied.write_bytes(case.read_bytes())
        with case.with_suffix(".expected").open(encoding="utf-8", newline="") as recorded:
            header, *wanted = csv.reader(recorded)
        _, found = read(copied, ", ".join(f"coalesce(CAST({name} AS VARCHAR), '')" for name in header))
        assert [list(row) for row in found] == wanted, case.name


def manifest(folder: Path, keys: list[str], **more: object) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "acme-Manifest.json"
    period = {"start": "20261001T000000.000Z", "end": "20261101T000000.000Z"}
    path.write_text(json.dumps({"reportName": "acme", "reportKeys": keys, "billingPeriod": period} | more))
    return path


def delivered(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        as_csv(rows(1, 5), folder / name)


def found_by(folder: Path, pattern: str) -> list[str]:
    return [str(path.absolute().relative_to(folder)) for path in source_files(SourceSettings(pattern), folder)]


def test_the_files_of_one_manifest_are_one_delivery(tmp_path: Path) -> None:
    """Of two assemblies the one counts that the manifest next to them names; other files are read as they are."""
    month = tmp_path / "acme" / "20261001-20261101"
    delivered(month, "a1/acme-1.csv", "a2/acme-1.csv", "a2/acme-2.csv")
    (tmp_path / "jobs.csv").write_text("job_id\n")
    key = "prefix/acme/20261001-20261101"
    manifest(month, [f"{key}/a2/acme-1.csv", f"{key}/a2/acme-2.csv"], assemblyId="a2")
    manifest(month / "a1", [f"{key}/a1/acme-1.csv"], assemblyId="a1")
    wanted = [f"acme/20261001-20261101/a2/acme-{number}.csv" for number in (1, 2)]
    assert found_by(tmp_path, "acme/**") == wanted
    assert found_by(tmp_path, "acme/*/*Manifest.json") == wanted
    assert found_by(tmp_path, "**") == [*wanted, "jobs.csv"]


def test_data_exports_name_addresses(tmp_path: Path) -> None:
    delivered(tmp_path / "acme/data/BILLING_PERIOD=2026-10", "acme-00001.csv")
    folder = tmp_path / "acme/metadata/BILLING_PERIOD=2026-10"
    address = "s3://bucket/prefix/acme/data/BILLING_PERIOD=2026-10/acme-00001.csv"
    path = manifest(folder, [], dataFiles=[address])
    assert found_by(tmp_path, str(path.relative_to(tmp_path))) == ["acme/data/BILLING_PERIOD=2026-10/acme-00001.csv"]


@pytest.mark.parametrize(
    ("files", "keys", "what"),
    [
        (["a1/acme-1.csv", "a2/acme-1.csv"], None, "files of 2 deliveries of one month: a1, a2"),
        (
            ["a1/acme-1.csv"],
            ["x/a1/acme-1.csv", "x/a1/acme-2.csv"],
            "1 of the 2 files it names are missing: x/a1/acme-2.csv",
        ),
        (["a1/acme-1.csv"], [], "the manifest names no files (reportKeys or dataFiles)"),
    ],
)
def test_a_delivery_that_is_not_whole_or_not_alone_is_refused(
    tmp_path: Path, files: list[str], keys: list[str] | None, what: str
) -> None:
    month = tmp_path / "20261001-20261101"
    delivered(month, *files)
    if keys is not None:
        manifest(month, keys)
    with pytest.raises(TrainfareError) as raised:
        found_by(tmp_path, "**")
    assert raised.value.what == what


def test_a_truncated_manifest_is_refused(tmp_path: Path) -> None:
    path = manifest(tmp_path / "20261001-20261101", ["a"])
    path.write_text(path.read_text()[:40])
    with pytest.raises(TrainfareError, match="the manifest is damaged or truncated"):
        found_by(tmp_path, "**")


def built(folder: Path, settings: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, object], str]:
    """Build and report a workspace; return the exit code, the findings by code, and what was said."""
    (folder / "trainfare.toml").write_text(settings, encoding="utf-8")
    with pytest.raises(SystemExit) as left:
        main(["build", "-w", str(folder)])
    said = capsys.readouterr().err
    if left.value.code:
        return int(str(left.value.code)), {}, said
    with pytest.raises(SystemExit):
        main(["report", "-w", str(folder), "--format", "json"])
    found = json.loads(capsys.readouterr().out)["findings"]
    return 0, {one["code"]: one for one in found}, said


def test_what_does_not_add_up_is_a_finding_over_all_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Negations in another file than the rows they net are no problem; a difference in the last digit is one."""
    base = rows(1, 19)
    by_type = {row["lineItem/LineItemType"]: row for row in base}
    covered, negation, fee = (by_type[f"SavingsPlan{name}"] for name in ("CoveredUsage", "Negation", "RecurringFee"))
    covered["lineItem/UnblendedCost"], negation["lineItem/UnblendedCost"] = "10.0000000002", "-10.0000000001"
    covered["savingsPlan/SavingsPlanEffectiveCost"] = fee["savingsPlan/UsedCommitment"] = "6"
    fee["savingsPlan/TotalCommitmentToDate"] = fee["lineItem/UnblendedCost"] = "7"
    for row in (covered, negation, fee):
        row["bill/InvoiceId"] = "INV"
    as_csv([covered, fee, by_type["SomethingNew"] | {"bill/InvoiceId": ""}], tmp_path / "part-1.csv")
    as_csv([negation], tmp_path / "part-2.csv")
    code, found, _ = built(tmp_path, "[[source]]\npath = 'part-*.csv'\nname = 'aws'\n", capsys)
    assert code == 0
    differs = found["BILL_DOES_NOT_ADD_UP"]
    assert differs["at_stake"] == "0.0000000002"  # type: ignore[index]
    assert len(differs["evidence"]) == 2  # type: ignore[index]
    assert "negations of arn" in str(differs["evidence"])  # type: ignore[index]
    assert found["LINE_TYPE_UNKNOWN"]["evidence"] == ["source aws: SomethingNew, 1 lines"]  # type: ignore[index]
    assert found["BILL_NOT_FINAL"]["evidence"] == ["source aws: rows without an invoice, 1 lines"]  # type: ignore[index]
    negation["lineItem/UnblendedCost"] = "-10.0000000002"
    as_csv([negation], tmp_path / "part-2.csv")
    _, found, _ = built(tmp_path, "[[source]]\npath = 'part-*.csv'\nname = 'aws'\n", capsys)
    assert "BILL_DOES_NOT_ADD_UP" not in found


FOCUS = (
    "BilledCost,EffectiveCost,BillingCurrency,ChargePeriodStart,ChargePeriodEnd,ProviderName,BillingAccountId,SubAccountId\n"
    "1,1,USD,2026-{month}-01T00:00:00Z,2026-{month}-02T00:00:00Z,{provider},012345678901,{account}\n"
)
BOTH = "[[source]]\npath = 'focus.csv'\n[[source]]\npath = 'cur.csv'\n"


@pytest.mark.parametrize(
    ("month", "provider", "account", "code"),
    [
        ("10", "Amazon Web Services", "000000000001", 2),
        ("09", "AWS", "000000000001", 0),
        ("10", "AWS", "000000000003", 0),
        ("10", "Elsewhere", "000000000001", 0),
    ],
)
def test_an_account_in_two_exports_of_a_month_is_not_built(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], month: str, provider: str, account: str, code: int
) -> None:
    (tmp_path / "focus.csv").write_text(FOCUS.format(month=month, provider=provider, account=account), encoding="utf-8")
    as_csv(rows(1, 19), tmp_path / "cur.csv")
    left, _, said = built(tmp_path, BOTH, capsys)
    assert left == code
    if code:
        assert "2026-10: account 000000000001 would count twice: in" in said
        assert "focus.csv (focus, source focus) and" in said
        assert "cur.csv (aws-cur, source cur)" in said
        assert "remove the other [[source]]" in said
