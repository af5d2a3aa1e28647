"""Unusual but valid files are read like the plain ones: no check rejects too much."""

import csv
import gzip
import json
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from trainfare.allocate import rules
from trainfare.cli import main
from trainfare.settings import config
from trainfare.settings.rules import BUILT_IN_RULES, LAST_RULE

from .cases import fill

Report = Callable[..., str]


@pytest.fixture
def report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Report:
    """Report on files in a folder with the good ones; returns the CSV output."""
    fill(tmp_path)
    monkeypatch.chdir(tmp_path)

    def run(bill: str = "bill.csv", jobs: str = "jobs.csv", *more: str) -> str:
        command = ["report", bill, "--jobs", jobs, "--machines", "machines.csv", "--by", "job", "--format", "csv"]
        with pytest.raises(SystemExit) as left:
            main([*command, *more])
        assert not left.value.code, capsys.readouterr().err
        return capsys.readouterr().out

    return run


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(text.splitlines()))


def as_json_lines(text: str) -> bytes:
    rows = [row | {"attempt": int(row["attempt"]), "gpus": float(row["gpus"])} for row in rows_of(text)]
    return "\n\n".join(json.dumps(row) for row in rows).encode()


def as_json_list(text: str) -> bytes:
    return json.dumps(rows_of(text), indent=2).encode()


def as_parquet(text: str, types: str) -> bytes:
    Path("plain.csv").write_text(text, encoding="utf-8")
    duckdb.execute(f"COPY (SELECT * REPLACE ({types}) FROM 'plain.csv') TO 'generated.parquet' (FORMAT parquet)")
    return Path("generated.parquet").read_bytes()


VARIANTS: dict[str, Callable[[str], bytes]] = {
    "byte_order_mark.csv": lambda text: b"\xef\xbb\xbf" + text.encode(),
    "crlf.csv": lambda text: text.replace("\n", "\r\n").encode(),
    "tabs.tsv": lambda text: text.replace('"{""team"": ""nlp""}"', "").replace(",", "\t").encode(),
    "blank_lines.csv": lambda text: text.replace("\n", "\n\n").encode(),
    "no_final_newline.csv": lambda text: text.rstrip("\n").encode(),
    "compressed.csv.gz": lambda text: gzip.compress(text.encode()),
    "brackets[1].csv": lambda text: text.encode(),
    "capitals.csv": lambda text: (text.split("\n")[0].upper() + "\n" + text.split("\n", 1)[1]).encode(),
}
JOBS = VARIANTS | {
    "lines.jsonl": as_json_lines,
    "lines.jsonl.gz": lambda text: gzip.compress(as_json_lines(text)),
    "list.json": as_json_list,
    "offsets.csv": lambda text: text.replace("T00:00:00Z", "T02:00:00+02:00").encode(),
    "epoch.csv": lambda text: text.replace("2026-10-01T00:00:00Z", "1790812800").encode(),
    "typed.parquet": lambda text: as_parquet(text, "CAST(gpus AS DOUBLE) AS gpus"),
    "text.parquet": lambda text: as_parquet(text, "CAST(gpus AS VARCHAR) AS gpus, CAST(started AS VARCHAR) AS started"),
}
BILLS = VARIANTS | {
    "doubles.parquet": lambda text: as_parquet(text, "CAST(BilledCost AS DOUBLE) AS BilledCost"),
    "decimals.parquet": lambda text: as_parquet(text, "CAST(BilledCost AS DECIMAL(38,18)) AS BilledCost"),
    "fine_decimals.parquet": lambda text: as_parquet(text, "CAST(EffectiveCost AS DECIMAL(38,30)) AS EffectiveCost"),
    "text.parquet": lambda text: as_parquet(text, "CAST(BilledCost AS VARCHAR) AS BilledCost"),
    "exponents.csv": lambda text: text.replace("8.00,8.00", "8e0,0.8E+1").encode(),
    "blank_before_tags.csv": lambda text: text.replace('"{""team""', '" \t{""team""').encode(),
    "tags_without_braces.csv": lambda text: text.replace('"{""team"": ""nlp""}"', '"""team"": ""nlp"""').encode(),
}


@pytest.mark.parametrize("name", JOBS)
def test_a_job_file_may_be_written_in_many_ways(name: str, report: Report) -> None:
    plain = report()
    assert "\njobs,a," in plain
    Path(name).write_bytes(JOBS[name](Path("jobs.csv").read_text(encoding="utf-8")))
    assert report(jobs=name) == plain


@pytest.mark.parametrize("name", BILLS)
def test_a_bill_may_be_written_in_many_ways(name: str, report: Report) -> None:
    Path(name).write_bytes(BILLS[name](Path("bill.csv").read_text(encoding="utf-8")))
    if name == "tabs.tsv":
        Path("bill.csv").write_text(Path("bill.csv").read_text(encoding="utf-8").replace('"{""team"": ""nlp""}"', ""))
    assert report(bill=name) == report()


def test_local_times_and_offsets_may_be_mixed_in_one_file(report: Report) -> None:
    """Berlin is two hours ahead of UTC in October; a time with an offset keeps it."""
    plain = report()
    text = Path("jobs.csv").read_text(encoding="utf-8")
    Path("local.csv").write_text(text.replace("2026-10-01T00:00:00Z", "2026-10-01T02:00:00"), encoding="utf-8")
    assert report("bill.csv", "local.csv", "--zone", "Europe/Berlin") == plain
    Path("local.jsonl").write_bytes(as_json_lines(Path("local.csv").read_text(encoding="utf-8")))
    assert report("bill.csv", "local.jsonl", "--zone", "Europe/Berlin") == plain


def test_an_unknown_state_becomes_a_label(report: Report) -> None:
    header, first, *rest = Path("jobs.csv").read_text(encoding="utf-8").splitlines()
    text = "\n".join([f"{header},state", f"{first},Evicted", *(f"{row},completed" for row in rest)])
    Path("jobs.csv").write_text(text, encoding="utf-8")
    assert "unknown" in report("bill.csv", "jobs.csv", "--by", "state")


def test_a_job_log_without_rows_means_that_nothing_ran(report: Report) -> None:
    Path("none.csv").write_text(Path("jobs.csv").read_text(encoding="utf-8").split("\n")[0] + "\n", encoding="utf-8")
    assert "\njobs,a," not in report(jobs="none.csv")


def test_a_permanent_machine_may_exist_until_the_last_possible_year(report: Report) -> None:
    plain = report()
    rows = "machine_id,resource_id,gpus,existed_from,existed_to\nn1,n1,8,0001-01-01,9999-12-31\n"
    Path("machines.csv").write_text(rows, encoding="utf-8")
    assert report() == plain


def test_text_and_parquet_may_come_in_any_order(report: Report) -> None:
    plain = report()
    Path("bill.parquet").write_bytes(BILLS["doubles.parquet"](Path("bill.csv").read_text(encoding="utf-8")))
    assert report(bill="jobs.csv", jobs="bill.parquet") == plain


@pytest.mark.parametrize(
    "text", ["8", "+8", "-8.", ".5", "8e-3", "8E+3", " 8 ", "1_000", "0x8", "8f", "8e", "", "-", "8.8.8"]
)
def test_a_text_that_is_a_double_is_also_money(text: str) -> None:
    """Amounts are checked as DOUBLE, which is fast, and stored as DECIMAL: both must accept the same texts."""
    found = duckdb.execute("SELECT TRY_CAST($1 AS DOUBLE) IS NULL, TRY_CAST($1 AS DECIMAL(38,12)) IS NULL", [text])
    as_double, as_money = found.fetchone() or (None, None)
    assert as_double == as_money


def test_a_bill_counts_once_with_and_without_compression(report: Report) -> None:
    plain = report()
    Path("again.csv.gz").write_bytes(gzip.compress(Path("bill.csv").read_bytes()))
    assert report("bill.csv", "jobs.csv", "--with", "again.csv.gz") == plain


def test_texts_of_a_match_may_have_any_case() -> None:
    match = 'match = { category = "Storage", origin = "BILL", charge_category = ["usage", "T*"] }'
    parsed = config.parse(f'[[rule]]\nname = "disks"\n{match}\nto = "__outside__"\n', Path("trainfare.toml"))
    assert parsed.rule[0].match["category"] == "Storage"


def test_a_rule_may_have_a_built_in_name_without_the_built_in_rules() -> None:
    text = 'default_rules = false\n[[rule]]\nname = "machine"\nmatch = { machine = true }\namong = "machine"\n'
    assert config.parse(text, Path("trainfare.toml")).rule[0].name == "machine"


def test_the_names_of_built_in_rules_are_those_of_the_rules() -> None:
    assert [rule.name for rule in rules.in_force(config.Config())] == [*BUILT_IN_RULES, LAST_RULE]
