"""Every source satisfies the protocol, and a new one needs no change anywhere else."""

import csv
import json
from pathlib import Path

import pytest

from trainfare.cli import main
from trainfare.engine.duckdb import DuckDB, parquet
from trainfare.errors import Problems
from trainfare.files.locations import Location
from trainfare.sources import registry
from trainfare.sources.head import Head, Unit
from trainfare.sources.kinds import Kind
from trainfare.sources.protocol import ArchivedFile, ReadOptions, Source
from trainfare.sources.registry import SOURCES
from trainfare.tables import MACHINES, Table

GOOD = Path(__file__).parents[1] / "bad" / "good"
SLURM = Path(__file__).parent / "slurm"
BILLS = Path(__file__).parent / "bills"
TARGETS = "machine_id,job_id,project,team,cost_center,owner,experiment,model_version"
SAMPLES = {
    "focus": (GOOD / "bill.csv").read_text(encoding="utf-8"),
    "google": (BILLS / "google" / "dotted-columns-and-python-lists.csv").read_text(encoding="utf-8"),
    "azure": (BILLS / "azure" / "prices-of-blocks.csv").read_text(encoding="utf-8"),
    "oracle": (BILLS / "oracle" / "corrections-are-added.csv").read_text(encoding="utf-8"),
    "sacct": (SLURM / "requeued.txt").read_text(encoding="utf-8"),
    "sacct-json": (SLURM / "no-jobs.json").read_text(encoding="utf-8"),
    "jobs": (GOOD / "jobs.csv").read_text(encoding="utf-8"),
    "machines": (GOOD / "machines.csv").read_text(encoding="utf-8"),
    "measurements": "job_id,attempt,machine_id,started,ended,measure,value\na,1,n1,2026-10-01,,step,5\n",
    "quality": "job_id,metric,value,better\na,accuracy,76.4,higher\n",
    "prices": "kind,region,price,currency,valid_from,valid_to\np5.48xlarge,,98.32,USD,2026-10-01,\n",
    "labor": f"day,person,role,hours,rate,currency,{TARGETS}\n2026-10-03,ann,,7.5,95.00,USD,,a,,,,,,\n",
    "licenses": "license,per,quantity,price,every,currency,started,ended," + TARGETS + "\n"
    "compiler,seat,10,49.99,month,USD,2026-01-01,2027-01-01,n1,a,,,,,,\n",
    "invoices": "invoice,vendor,description,category,amount,currency,started,ended," + TARGETS + "\n"
    "R-1,ACME,support,support,12000,USD,2026-07-01,2027-07-01,n1,a,,,,,,\n",
    "power": "machine_id,time,kw\nn1,2026-10-01T00:00:00Z,6.71\n",
    "tariffs": "tariff,price_per_kwh,currency,days,from_hour,to_hour\nday,0.31,USD,mon-fri,6,22\n",
    "rates": "day,from_currency,to_currency,rate,source\n2026-10-01,EUR,USD,1.1172,bank\n",
    "ecb rates": "Date,USD,JPY,BGN,CZK,DKK,GBP,\n2026-10-30,1.1,160.2,1.9558,25.1,7.46,0.86,\n",
    "commitments": "commitment_id,price,currency,started,ended,quantity\nri-1,87600,USD,2026-01-01,2027-01-01,4\n",
    "aws-cur": "lineItem/LineItemType,lineItem/UsageStartDate,lineItem/UsageEndDate,lineItem/UnblendedCost,"
    "lineItem/CurrencyCode\nUsage,2026-10-01T00:00:00Z,2026-10-01T01:00:00Z,1,USD\n",
    "aws-cur-2": "line_item_line_item_type,line_item_usage_start_date,line_item_usage_end_date,line_item_unblended_cost,"
    "product,line_item_currency_code\nUsage,2026-10-01T00:00:00Z,2026-10-01T01:00:00Z,1,{},USD\n",
    "github-actions": "date,product,sku,quantity,unit_type,applied_cost_per_quantity,gross_amount,discount_amount,"
    "net_amount,repository\n2026-10-03,actions,Actions Linux,10,minutes,0.008,0.08,0,0.08,acme/train\n",
    "databricks": "account_id,workspace_id,sku_name,usage_start_time,usage_end_time,usage_unit,usage_quantity,list_price,"
    "currency_code\na,1,JOBS,2026-10-01T00:00:00Z,2026-10-01T01:00:00Z,DBU,2,0.15,USD\n",
    "hardware": "machine_id,price,salvage,currency,in_service,life_months\nn1,300000,20000,USD,2025-01-15,48\n",
}
"""A small file of every format, with all columns by which it could be confused with another."""


def recognized_by(path: Path) -> list[str]:
    _, head = registry.recognize(DuckDB(), path)
    return [source.NAME for source in SOURCES if source.recognize(head)]


def as_json_lines(text: str) -> str:
    return "\n".join(json.dumps(row) for row in csv.DictReader(text.splitlines()))


def test_names_and_descriptions_are_unique() -> None:
    """Types are checked statically: `SOURCES` is a tuple of `Source`."""
    assert len({source.NAME for source in SOURCES}) == len(SOURCES)
    assert {source.NAME for source in SOURCES} == {*SAMPLES, "mapping"}, "a user's mapping recognizes no file"
    assert len({source.DESCRIPTION for source in SOURCES}) == len(SOURCES)
    assert all(name == registry.by_name(name).NAME for name in SAMPLES)
    assert {source.KIND for source in SOURCES} == set(Kind)


@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_is_recognized_by_exactly_one_source(name: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text(SAMPLES[name], encoding="utf-8")
    assert recognized_by(tmp_path / "file") == [name]


@pytest.mark.parametrize(
    "name",
    [
        name
        for name in SAMPLES
        if name not in ("azure", "oracle", "sacct", "sacct-json", "ecb rates", "github-actions", "databricks")
        and not name.startswith("aws-")
    ],
)
def test_a_sample_in_json_is_recognized_by_exactly_one_source(name: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text(as_json_lines(SAMPLES[name]), encoding="utf-8")
    assert recognized_by(tmp_path / "file") == [name]


@pytest.mark.parametrize("path", sorted(SLURM.glob("*.txt")) + sorted(SLURM.glob("*.json")), ids=lambda path: path.name)
def test_every_slurm_file_is_recognized_by_exactly_one_source(path: Path) -> None:
    assert recognized_by(path) == ["sacct-json" if path.suffix == ".json" else "sacct"]


@pytest.mark.parametrize("name", SAMPLES)
def test_an_archived_sample_has_the_rows_of_its_table(name: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text(SAMPLES[name], encoding="utf-8")
    engine, problems, archived = DuckDB(), Problems(), ArchivedFile(tmp_path / "archived", 1, "source")
    source, head = registry.recognize(engine, tmp_path / "file")
    count = source.archive(engine, head, archived.location, ReadOptions(), problems)
    problems.raise_if_any()
    table = source.KIND.table
    select = source.rows(engine, archived, ReadOptions(), table)
    assert engine.columns(f"({select})") == {column.name: column.type for column in table.columns}
    assert engine.row(f"SELECT count(*) FROM {parquet(archived.location)}") == (count,)
    others = {
        other.KIND.table.name for other in SOURCES if source.rows(engine, archived, ReadOptions(), other.KIND.table)
    }
    assert others == {table.name, *(["machines"] if name == "hardware" else [])}


def test_owned_hardware_lists_its_machines(tmp_path: Path) -> None:
    (tmp_path / "file").write_text(SAMPLES["hardware"], encoding="utf-8")
    engine, archived = DuckDB(), ArchivedFile(tmp_path / "archived", 1, "source")
    source, head = registry.recognize(engine, tmp_path / "file")
    source.archive(engine, head, archived.location, ReadOptions(), Problems())
    select = source.rows(engine, archived, ReadOptions(), MACHINES)
    assert engine.columns(f"({select})") == {column.name: column.type for column in MACHINES.columns}
    assert engine.rows(f"SELECT machine_id, resource_id FROM ({select})") == [("n1", "n1")]


class MappedTable:
    """A user's own mapping: a CSV file whose first line is a name, and SQL for the columns of a table."""

    VERSION = "1"

    def __init__(self, name: str, kind: Kind, columns: dict[str, str]) -> None:
        self.NAME = self.DESCRIPTION = name
        self.KIND = kind
        self.columns = columns

    def recognize(self, head: Head) -> bool:
        return head.first_line == self.NAME

    def archive(self, engine: DuckDB, head: Head, target: Location, options: ReadOptions, problems: Problems) -> int:
        engine.write_parquet(f"SELECT * FROM read_csv('{head.path}', skip = 1, header = true)", target)
        count = int(engine.row(f"SELECT count(*) FROM {parquet(target)}")[0])
        head.tally.record(Unit.RECORDS, count, header_rows=2)
        return count

    def rows(self, engine: DuckDB, file: ArchivedFile, options: ReadOptions, table: Table) -> str | None:
        if table is not self.KIND.table:
            return None
        given = self.columns | {"source": f"'{file.source}'", "delivery": str(file.delivery)}
        columns = (f"CAST({given.get(c.name, 'NULL')} AS {c.type}) AS {c.name}" for c in table.columns)
        return f"SELECT {', '.join(columns)} FROM {parquet(file.location)}"


BILL: Source = MappedTable(
    "hosting company",
    Kind.BILL,
    dict.fromkeys(("effective", "billed"), "cost")
    | dict.fromkeys(("billing_start", "billing_end"), "TIMESTAMP '2026-10-15'")
    | {"period_start": "since", "period_end": "until", "resource_id": "server", "currency": "'USD'"}
    | {
        "origin": "'bill'",
        "charge_category": "'Usage'",
        "service_category": "'Compute'",
        "line": "number",
        "finer": "0",
    },
)
LOG: Source = MappedTable(
    "home-made scheduler",
    Kind.JOBS,
    {"job_id": "task", "attempt": "1", "machine_id": "server", "started": "since", "ended": "until"}
    | {"gpus": "cards", "state": "'completed'", "line": "number"},
)


def test_a_bill_and_a_job_log_of_other_formats_need_no_special_case(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(registry, "SOURCES", (BILL, LOG, *SOURCES))
    monkeypatch.chdir(tmp_path)
    hours = "2026-10-01 00:00:00,2026-10-01 04:00:00"
    Path("bill").write_text(f"hosting company\nnumber,server,since,until,cost\n1,n1,{hours},8.00\n")
    Path("log").write_text(f"home-made scheduler\nnumber,task,server,since,until,cards\n1,a,n1,{hours},6\n")
    with pytest.raises(SystemExit) as left:
        main(["report", "bill", "--jobs", "log", "--machines", str(GOOD / "machines.csv"), "--format", "json"])
    printed = capsys.readouterr()
    assert not left.value.code, printed.err
    report = json.loads(printed.out)
    assert (report["overall"]["cost"], report["idle"]["cost"]) == ("6.00", "2.00"), "the job held six of eight GPUs"
