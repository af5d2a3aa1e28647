"""A bill without a reader of its own is read through a mapping, which is checked before anything is loaded."""

import csv
import random
from decimal import ROUND_HALF_UP, Decimal, localcontext
from pathlib import Path

import duckdb
import pytest

from trainfare.engine.duckdb import DuckDB
from trainfare.errors import Problems, TrainfareError
from trainfare.sources.bills import expressions, mapping
from trainfare.sources.bills.expressions import ExpressionError
from trainfare.sources.protocol import ArchivedFile, ReadOptions
from trainfare.sources.registry import open_head, recognize
from trainfare.tables import CHARGES

INVOICE = """Invoice,Day,Item,Amount,Invoice Total
I-1,10/01/2026,8x H100,100.10,105.15
I-1,10/02/2026,storage,5.05,105.15
"""
MAPPING = """
[columns]
BilledCost = "number(Amount)"
EffectiveCost = "number(Amount)"
ChargePeriodStart = "strptime(Day, '%m/%d/%Y')"
ChargePeriodEnd = "next_day(strptime(Day, '%m/%d/%Y'))"
BillingCurrency = "'USD'"
ServiceName = "Item"

[total]
BilledCost = '"Invoice Total"'
per = "Invoice"
"""
GITHUB = """date,product,sku,quantity,unit_type,applied_cost_per_quantity,gross_amount,discount_amount,net_amount,repository
2026-10-03,actions,Actions Linux,1000,minutes,0.008,8.00,3.00,5.00,acme/train
2026-10-31,git_lfs,Git LFS storage,1.5,gigabyte-hours,0.0000976,0.0001464,0,0.0001464,acme/train
"""


def read(
    folder: Path, bill: str = INVOICE, text: str = MAPPING, zone: str = "UTC"
) -> tuple[list[tuple[object, ...]], Problems]:
    (folder / "invoice.csv").write_text(bill, encoding="utf-8")
    (folder / "invoice.toml").write_text(text, encoding="utf-8")
    engine, problems = DuckDB(), Problems()
    reader = mapping.load(folder / "invoice.toml", "invoice.toml")
    file = ArchivedFile(folder / "archived.parquet", 1, "invoices")
    reader.archive(engine, open_head(engine, folder / "invoice.csv"), file.location, ReadOptions(zone), problems)
    if problems.found:
        return [], problems
    select = mapping.ANY.rows(engine, file, ReadOptions(), CHARGES)
    columns = "line, period_start, period_end, billed, service_name, finer"
    return engine.rows(f"SELECT {columns} FROM ({select}) ORDER BY line"), problems


def said(problems: Problems, folder: Path) -> list[tuple[str, str, str]]:
    return [
        tuple(str(part).replace(f"{folder}/", "") for part in (one.where, one.what, one.do)) for one in problems.found
    ]


def test_an_unseen_bill_is_read_through_its_mapping(tmp_path: Path) -> None:
    found, problems = read(tmp_path)
    assert not problems.found
    assert [(line, str(start), str(end), str(billed)) for line, start, end, billed, *_ in found] == [
        (1, "2026-10-01 00:00:00", "2026-10-02 00:00:00", "100.100000000000"),
        (2, "2026-10-02 00:00:00", "2026-10-03 00:00:00", "5.050000000000"),
    ]


def test_times_without_an_offset_are_local_times_of_the_source(tmp_path: Path) -> None:
    """The zone is stored with the copy: it is read again without the settings."""
    found, _ = read(tmp_path, zone="America/New_York")
    assert [str(row[1]) for row in found] == ["2026-10-01 04:00:00", "2026-10-02 04:00:00"]


def test_a_copy_is_read_by_the_mapping_it_was_made_with(tmp_path: Path) -> None:
    read(tmp_path)
    stored = mapping.stored_in(DuckDB(), tmp_path / "archived.parquet")
    assert stored.definition == mapping.load(tmp_path / "invoice.toml", "").definition


def test_a_line_is_traced_to_the_row_and_its_expressions(tmp_path: Path) -> None:
    read(tmp_path)
    file = ArchivedFile(tmp_path / "archived.parquet", 1, "invoices")
    found = mapping.ANY.conversion(DuckDB(), file, 2)
    assert found is not None
    assert found.native["Item"] == "storage"
    assert found.expressions["BilledCost"] == "number(Amount)"
    assert found.focus["BilledCost"] == Decimal("5.05")


def test_a_row_that_states_the_total_is_no_charge(tmp_path: Path) -> None:
    bill = INVOICE.replace(",105.15", ",").replace(",Invoice Total", ",Note") + "I-1,,Total,105.15,\n"
    text = MAPPING.partition("[total]")[0] + '[total]\nwhere = "Item = \'Total\'"\nBilledCost = "number(Amount)"\n'
    found, problems = read(tmp_path, bill, text)
    assert [(row[0], str(row[3])) for row in found] == [(1, "100.100000000000"), (2, "5.050000000000")]
    _, problems = read(tmp_path, bill.replace("105.15", "105.16"), text)
    assert [what for _, what, _ in said(problems, tmp_path)] == [
        "BilledCost adds up to 105.15, but the file states 105.16"
    ]


@pytest.mark.parametrize(
    ("written", "instead", "where", "what", "do"),
    [
        ("number(Amount)", "number(Amout)", "[columns] BilledCost", "invoice.csv has no column 'Amout'", "'Amount'?"),
        ("number(Amount)", "Amount * 2", "[columns] BilledCost", "cannot be computed: no function matches", "number("),
        ("number(Amount)", "Amount = '1'", "[columns] BilledCost", "is BOOLEAN, not an amount", "number("),
        ("number(Amount)", "number(Amount) * 1e-2", "[columns] BilledCost", "is DOUBLE, which is not exact", "product"),
        ("strptime(Day, '%m/%d/%Y')", "42", "[columns] ChargePeriodStart", "is INTEGER, not a time", "strptime"),
    ],
)
def test_an_expression_that_does_not_fit_the_file_is_named(
    tmp_path: Path, written: str, instead: str, where: str, what: str, do: str
) -> None:
    _, problems = read(tmp_path, text=MAPPING.replace(written, instead, 1))
    ((at, message, remedy),) = said(problems, tmp_path)
    assert at == f"invoice.toml {where}"
    assert message.startswith(what)
    assert do in remedy


@pytest.mark.parametrize(
    ("written", "instead", "what"),
    [
        ('EffectiveCost = "number(Amount)"', "", "has no EffectiveCost"),
        ("ServiceName", "ServiceNme", "'ServiceNme' is not a FOCUS column that is read"),
        ("[columns]", "[column]", "unknown setting 'column'"),
        ("number(Amount)", "(SELECT 1)", "a subquery is not allowed"),
        ("number(Amount)", "read_text('/etc/passwd')", "function 'read_text' is not allowed"),
        ("number(Amount)", "sum(Amount)", "function 'sum' is not allowed"),
        ("number(Amount)", "number(Amount) / 2", "'/' is not allowed"),
        ("number(Amount)", "CAST(Amount AS DOUBLE)", "a cast to DOUBLE is not exact"),
        ("number(Amount)", "Amount FROM x", "not one expression"),
        ("number(Amount)", "Amount +", 'not a valid expression (syntax error at or near "+")'),
        ('"number(Amount)"', "5", "expected text, got a whole number"),
        ('"Item"', "Item", "not valid TOML: invalid value (at line 8, column 15)"),
        ("BilledCost = '\"Invoice", "ListCost = '\"Invoice", "states ListCost, which is not mapped"),
    ],
)
def test_a_wrong_mapping_is_rejected_before_a_bill_is_read(
    tmp_path: Path, written: str, instead: str, what: str
) -> None:
    with pytest.raises(TrainfareError) as raised:
        read(tmp_path, text=MAPPING.replace(written, instead, 1))
    assert raised.value.what == what
    assert raised.value.where.startswith("invoice.toml")


def test_a_total_that_differs_by_the_last_digit_is_refused(tmp_path: Path) -> None:
    _, problems = read(tmp_path, INVOICE.replace("5.05,", "5.050000000001,"))
    assert [what for _, what, _ in said(problems, tmp_path)] == [
        "BilledCost of 'I-1' adds up to 105.150000000001, but the file states 105.15"
    ]


def test_every_row_that_is_not_a_number_is_named_with_its_line(tmp_path: Path) -> None:
    _, problems = read(tmp_path, INVOICE.replace("100.10,", "1OO.10,"))
    assert said(problems, tmp_path)[0][:2] == ("invoice.csv:2", "Amount '1OO.10' is not an amount")


HARMFUL = [
    "COLUMNS(*)",
    "row_number() OVER ()",
    "getenv('HOME')",
    "list_transform([1], lambda x: x)",
    "a IN (SELECT 1)",
    "EXISTS (SELECT 1)",
    "$1",
    "current_setting('threads')",
    "a) FROM read_csv('x'",
    "a; DROP TABLE b",
    "nextval('s')",
    "a -> 'x' UNION SELECT 1",
    "query('SELECT 1')",
    "system.main.number(a)",
]


@pytest.mark.parametrize("text", HARMFUL)
def test_nothing_but_values_of_the_row_can_be_read(text: str) -> None:
    with pytest.raises(ExpressionError):
        expressions.parse(DuckDB(), text)


def test_a_comment_at_the_end_of_an_expression_changes_nothing(tmp_path: Path) -> None:
    found, problems = read(tmp_path, text=MAPPING.replace('"number(Amount)"', '"number(Amount) -- net"'))
    assert not problems.found
    assert len(found) == 2


def test_products_are_exact(tmp_path: Path) -> None:
    """Against Decimal, with quantities of 18 and prices of 12 decimals."""
    engine, chance = DuckDB(), random.Random(7)
    expressions.define_functions(engine)
    for _ in range(300):
        quantity = Decimal(chance.randint(-(10**22), 10**22)).scaleb(-chance.randint(0, 18))
        price = Decimal(chance.randint(0, 10**9)).scaleb(-chance.randint(0, 12))
        if abs(quantity * price) >= 10**15 or abs(quantity) >= 10**15 or price >= 10**8:
            continue
        ((found,),) = engine.rows(f"SELECT product('{quantity:f}', '{price:f}')")
        with localcontext() as exact:
            exact.prec = 100
            parts = [(int(quantity) * price), (quantity - int(quantity)) * price]
            wanted = sum(part.quantize(Decimal("1e-22"), ROUND_HALF_UP) for part in parts)
        assert found == wanted
    assert engine.rows("SELECT product('1', '0.1234567890123')") == [(None,)], "no price has more than 12 decimals"


def charges_of(path: Path, columns: str) -> tuple[str, list[tuple[object, ...]]]:
    engine, problems = DuckDB(), Problems()
    source, head = recognize(engine, path)
    file = ArchivedFile(path.with_name("archived.parquet"), 1, "bill")
    source.archive(engine, head, file.location, ReadOptions(), problems)
    problems.raise_if_any()
    return source.NAME, engine.rows(
        f"SELECT {columns} FROM ({source.rows(engine, file, ReadOptions(), CHARGES)}) ORDER BY line"
    )


def test_the_usage_report_of_github_is_recognized(tmp_path: Path) -> None:
    (tmp_path / "report.csv").write_text(GITHUB, encoding="utf-8")
    name, found = charges_of(tmp_path / "report.csv", "billed, list, period_end, billing_end, service_name, account")
    assert name == "github-actions"
    assert [tuple(map(str, row)) for row in found] == [
        ("5.000000000000", "8.000000000000", "2026-10-04 00:00:00", "2026-11-01 00:00:00", "GitHub actions", "acme/train"),
        ("0.000146400000", "0.000146400000", "2026-11-01 00:00:00", "2026-11-01 00:00:00", "GitHub git_lfs", "acme/train"),
    ]  # fmt: skip
    rows = list(csv.DictReader(GITHUB.splitlines()))
    assert sum(Decimal(row["net_amount"]) for row in rows) == sum(Decimal(str(row[0])) for row in found)


def test_databricks_usage_is_priced_at_the_list_price(tmp_path: Path) -> None:
    rows = """SELECT 'acct' AS account_id, 77 AS workspace_id, 'JOBS_COMPUTE' AS sku_name, 'DBU' AS usage_unit,
      TIMESTAMPTZ '2026-10-01 00:00:00+00' AS usage_start_time, TIMESTAMPTZ '2026-10-01 01:00:00+00' AS usage_end_time,
      CAST(q AS DECIMAL(38,18)) AS usage_quantity, CAST(0.15 AS DECIMAL(38,18)) AS list_price, 'USD' AS currency_code,
      kind AS record_type, MAP {'team': 'nlp'} AS custom_tags, 'c-1' AS cluster_id
      FROM (VALUES (2.123456789012345678, 'ORIGINAL'), (-0.5, 'RETRACTION')) v(q, kind)"""
    duckdb.execute(f"COPY ({rows}) TO '{tmp_path / 'usage.parquet'}' (FORMAT parquet)")
    name, found = charges_of(tmp_path / "usage.parquet", "billed, finer, charge_class, account, resource_id, tags")
    assert name == "databricks"
    assert [tuple(map(str, row)) for row in found] == [
        ("0.318518518352", "3", "None", "77", "c-1", '{"team":"nlp"}'),
        ("-0.075000000000", "0", "Correction", "77", "c-1", '{"team":"nlp"}'),
    ]


def test_the_worked_example_is_read(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "howto" / "mapping.md").read_text(encoding="utf-8")
    bill, text = (page.partition(f"```{kind}\n")[2].partition("```")[0] for kind in ("csv", "ini"))
    found, problems = read(tmp_path, bill, text, "America/Los_Angeles")
    assert not said(problems, tmp_path)
    assert [(str(row[1]), row[3], row[4]) for row in found] == [
        ("2026-10-01 07:00:00", Decimal("574.08"), "8x H100"),
        ("2026-10-02 07:00:00", Decimal("5.98"), "8x H100"),
        ("2026-10-02 07:00:00", Decimal("0.07"), "Storage"),
    ]
