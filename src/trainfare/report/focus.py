"""A book as FOCUS 1.3: each bill line replaced by its allocated charges, which add up to it exactly.

Every dimension is that of the bill line. Costs and quantities are split; the parts of a line add up to the line. A
part that is allocated to a job names it in AllocatedResourceId; idle and unallocated parts have none, as the standard
requires. Lines that are allocated to a single payer are not split and have no method. The columns that start with x_
are ours.
"""

from collections.abc import Mapping

from trainfare.allocate import lineage
from trainfare.books.reopen import reopen
from trainfare.engine.duckdb import DuckDB, quoted
from trainfare.period import Month
from trainfare.store import Book, Store
from trainfare.tables import LABELS

COSTS = {"BilledCost": "billed", "EffectiveCost": "effective", "ListCost": "list", "ContractedCost": "contracted"}
QUANTITIES = ("ConsumedQuantity", "PricingQuantity", "CommitmentDiscountQuantity")
TIMES = ("BillingPeriodStart", "BillingPeriodEnd", "ChargePeriodStart", "ChargePeriodEnd")
RENAMED = {"ServiceProviderName": "ProviderName", "HostProviderName": "PublisherName"}
OWN_COLUMNS = {
    "AllocatedMethodId": "CASE WHEN p.parts > 1 THEN 'trainfare/' || p.rule || '/' || p.weighed_by END",
    "AllocatedMethodDetails": (
        'CASE WHEN p.parts > 1 THEN \'{"Elements":[{"AllocatedRatio":\' || CAST(as_money(p.ratio) AS VARCHAR) '
        '|| \',"UsageUnit":"parts by \' || p.weighed_by || \'","UsageQuantity":\' '
        "|| CAST(p.weight AS VARCHAR) || '}]}' END"
    ),
    "AllocatedResourceId": "CASE WHEN p.payer_kind IN ('attempt', 'label') THEN p.payer END",
    "AllocatedResourceName": "CASE WHEN p.payer_kind IN ('attempt', 'label') THEN coalesce(p.job_id, p.payer) END",
    "AllocatedTags": (
        "CASE p.payer_kind WHEN 'attempt' THEN nullif(CAST(json_merge_patch('{}', json_object("
        + ", ".join(f"'trainfare/{name}', a.{name}" for name in LABELS)
        + ")) AS VARCHAR), '{}') WHEN 'label' THEN CAST(json_object('trainfare/' || split_part(p.payer, ':', 1), "
        "substr(p.payer, strpos(p.payer, ':') + 1)) AS VARCHAR) END"
    ),
    "x_Payer": "p.payer",
    "x_PayerKind": "p.payer_kind",
    "x_Reason": "p.reason",
    "x_JobId": "p.job_id",
    "x_Attempt": "p.attempt",
    "x_MachineId": "p.machine_id",
    "x_Day": "p.day",
    "x_Category": "p.category",
    "x_Origin": "p.origin",
    "x_Estimated": "p.origin = 'estimate'",
    "x_Rule": "p.rule",
    "x_Weight": "p.weight",
    "x_TotalWeight": "p.total_weight",
    "x_ConvertedFrom": "p.converted_from",
    "x_ConversionRate": "r.rate",
    "x_ConversionRateDay": "r.rate_day",
    "x_ConversionRateSource": "r.rate_source",
}
UNIT_PRICES = ("ListUnitPrice", "ContractedUnitPrice")
"""Prices in the currency of the bill: null if a line was converted, because no such price was ever quoted."""


def line_rates(month: Month) -> str:
    """Return a SELECT of the exchange rate of each converted line of the month, for `select`."""
    return (
        "SELECT delivery, line, rate, rate_day, rate_source FROM charges WHERE rate IS NOT NULL "
        f"AND billing_month(billing_start, billing_end) = DATE '{month}-01'"
    )


CHARGE_COLUMNS = {
    "BillingPeriodStart": "billing_start",
    "BillingPeriodEnd": "billing_end",
    "ChargePeriodStart": "period_start",
    "ChargePeriodEnd": "period_end",
    **COSTS,
    "BillingCurrency": "currency",
    "ChargeCategory": "charge_category",
    "ChargeDescription": "description",
    "ServiceName": "service_name",
    "ResourceId": "resource_id",
    "CommitmentDiscountId": "commitment_id",
    "CommitmentDiscountStatus": "commitment_status",
    "Tags": "tags",
}
"""The FOCUS columns of ledgers and estimates, which have no bill line, from the columns of charges."""


def ledger_select(delivery: int) -> str:
    """Return a SELECT of the charges of a delivered ledger as FOCUS rows with their `line`."""
    columns = ", ".join(f'{column} AS "{name}"' for name, column in CHARGE_COLUMNS.items())
    return f"SELECT line, {columns} FROM charges WHERE origin <> 'bill' AND delivery = {delivery}"


def select(origin: str, columns: Mapping[str, str], delivery: int, sign: int = 1) -> str:
    """Return a SELECT of the allocated charges of one delivered bill.

    `origin` is a SELECT of the bill's rows with `line`; `columns` are their names and types. A bill that a later one
    replaced after its month was closed is reversed: its sign is -1.
    """
    known = {name.lower(): name for name in columns}
    selected = []
    for name, type_ in columns.items():
        if name == "line" or name.lower().startswith("allocated"):
            continue
        selected.append(f"{_column(name, type_, sign)} AS {_quoted(name)}")
    for new, old in RENAMED.items():
        if new.lower() not in known and old.lower() in known:
            selected.append(f"b.{_quoted(known[old.lower()])} AS {_quoted(new)}")
    selected += [f"{sql} AS {_quoted(name)}" for name, sql in OWN_COLUMNS.items()]
    selected += ['f.path AS "x_SourceFile"', 'abs(p.line) // f.lines_per_row + f.header_lines AS "x_SourceLine"']
    return (
        f"SELECT {', '.join(selected)} FROM allocations p JOIN ({origin}) b ON b.line = p.line "
        "JOIN delivered_files f ON f.delivery = p.delivery "
        "LEFT JOIN (SELECT * FROM attempts QUALIFY row_number() OVER (PARTITION BY job_id, attempt "
        "ORDER BY attempt_key) = 1) a ON a.job_id = p.job_id AND a.attempt = p.attempt "
        "LEFT JOIN line_rates r ON r.delivery = p.delivery AND r.line = p.line "
        f"WHERE p.delivery = {delivery}"
    )


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _column(name: str, type_: str, sign: int) -> str:
    column = f"b.{_quoted(name)}"
    costs = {cost.lower(): basis for cost, basis in COSTS.items()}
    if name.lower() in costs:
        return f"CASE WHEN {column} IS NOT NULL THEN p.{costs[name.lower()]} END"
    if name == "BillingCurrency":
        return f"CASE WHEN r.rate IS NULL THEN {column} ELSE p.currency END"
    if name in UNIT_PRICES:
        price = f"TRY_CAST({column} AS DECIMAL(38,18))" if type_ == "VARCHAR" else column
        return f"CASE WHEN r.rate IS NULL THEN {price} END"
    if name in QUANTITIES:
        return _quantity(column, sign)
    if type_.startswith("TIMESTAMP"):
        return f"strftime(CAST({column} AS TIMESTAMP), {quoted('%Y-%m-%dT%H:%M:%SZ')})"
    if name in TIMES:
        return f"strftime(CAST(TRY_CAST({column} AS TIMESTAMPTZ) AS TIMESTAMP), {quoted('%Y-%m-%dT%H:%M:%SZ')})"
    if type_.startswith("MAP"):
        return f"CAST(to_json({column}) AS VARCHAR)"
    return column


def _quantity(column: str, sign: int) -> str:
    """Return SQL that splits a quantity like its cost: integer parts of 10^-12 by ratio, the remainder to the first."""
    quantity = f"({sign} * TRY_CAST({column} AS DECIMAL(38,12)))"
    part = f"integer_part(in_units({quantity}), CAST(p.ratio AS BIGINT), 1000000000000)"
    order = "p.weight DESC, p.payer, p.machine_id, p.day"
    return (
        f"as_money(CASE WHEN row_number() OVER (PARTITION BY p.line ORDER BY {order}) > 1 THEN {part} "
        f"ELSE in_units({quantity}) - (sum({part}) OVER (PARTITION BY p.line) - {part}) END)"
    )


def rows_of_book(store: Store, book_: Book, engine: DuckDB) -> str:
    """Return a SELECT of a published book as FOCUS rows: every bill line split across its payers."""
    delivered, reversed_ = reopen(store, book_, engine)
    lineage.open_everything(engine)
    engine.table("line_rates", line_rates(book_.month))
    selects = []
    for file, sign in (*((file, 1) for file in delivered), *((file, -1) for file in reversed_)):
        if file.is_bill:
            origin = f"SELECT * REPLACE ({sign} * line AS line) FROM ({file.focus_rows(engine)})"
            selects.append(select(origin, engine.columns(f"({origin})"), file.number, sign))
    for (number,) in engine.rows("SELECT DISTINCT delivery FROM allocations WHERE origin <> 'bill' ORDER BY delivery"):
        origin = ledger_select(number)
        selects.append(select(origin, engine.columns(f"({origin})"), number))
    return " UNION ALL BY NAME ".join(selects)
