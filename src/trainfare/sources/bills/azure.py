"""Azure Cost Management exports -> charges: actual cost, amortized cost, or both.

Six families of headers have the same content under other names (EA, MCA and pay-as-you-go, in several spellings and
languages); a translated header has the English name in brackets. What the exports say:
- actual cost has what is invoiced: commitments are bought, and what they cover costs 0. Amortized cost spreads a
  commitment over what it covered and what it did not, and has no purchases of it. Only both together tell billed and
  effective cost: all lines of the amortized export, and of the actual one only purchases and refunds of commitments.
  Every amortized line that belongs to a commitment is billed at 0, the unused ones too: their money is the purchase;
- with one of them alone, what the other would tell is unknown, and each such line says so;
- dates are days, as ISO or month first; billing periods end with their last day;
- a unit such as `10 Hours` is a block: prices are for a block, quantities count hours. Costs are taken as stated;
- a line of a scale set belongs to the machine that AdditionalInfo names: its id is completed as Kubernetes writes it;
- tags and AdditionalInfo are JSON, with or without braces.
Verified: the sums of both exports equal the account, line by line, in every family of headers.
"""

from collections import defaultdict
from collections.abc import Sequence
from decimal import Decimal
from typing import Protocol

from trainfare.engine.duckdb import DuckDB, quoted
from trainfare.errors import Problems
from trainfare.files.locations import Location
from trainfare.sources.bills import charges
from trainfare.sources.bills.azure_services import block_size, service_category
from trainfare.sources.bills.native import Field, Holds, NativeBill, Part, column_in
from trainfare.sources.head import Head
from trainfare.sources.protocol import ArchivedFile, ReadOptions
from trainfare.sources.raw import RawTable
from trainfare.sources.rows import header_names, plain_name, simplified
from trainfare.tables import CHARGES

US_DATE = "[0-9]{1,2}/[0-9]{1,2}/[0-9]{4}( .*)?"
COST = ("CostInBillingCurrency", "PreTaxCost", "Cost")
DATE = ("Date", "UsageDateTime", "UsageDate")
FACTOR = "DECIMAL(19,10)"
PRODUCT_UNITS = 10**8
"""How many of the last digits of a product of two factors are one unit of money."""
CHARGE_TYPES = {
    "usage": "Usage",
    "purchase": "Purchase",
    "tax": "Tax",
    "unusedreservation": "Usage",
    "unusedsavingsplan": "Usage",
    "refund": "Purchase",
    "roundingadjustment": "Adjustment",
}
PRICING_MODELS = {"ondemand": "Standard", "reservation": "Committed", "savingsplan": "Committed", "spot": "Dynamic"}
ACTUAL_ALONE = (
    "actual cost without the amortized export: what the commitment covered is not known, effective is as billed"
)
DIFFERENT = (
    "outside of commitments the actual export has {:f} more than the amortized one, which counts: export both again"
)
AMORTIZED_ALONE = "amortized cost without the actual export: what was billed for the commitment is not known"


def _day(*names: str) -> Field:
    def derive(raw: RawTable) -> str | None:
        column = column_in(raw, names)
        if column is None:
            return "CAST(NULL AS TIMESTAMP)"
        return _days(raw, column)[0]

    return Field(names[0], derive=derive)


def _days(raw: RawTable, column: str) -> tuple[str, str]:
    """Return SQL for a column as a day, with the month first in dates with slashes, and with the day first."""
    if not raw.is_text(column):
        return raw.timestamp(column), raw.timestamp(column)
    text = raw.column(column)[0]
    part = f"split_part({text}, ' ', 1)"
    orders = (f"CAST(try_strptime({part}, '{order}') AS TIMESTAMP)" for order in ("%m/%d/%Y", "%d/%m/%Y"))
    month_first, day_first = (
        f"CASE WHEN regexp_full_match({text}, '{US_DATE}') THEN {parsed} ELSE {raw.timestamp(column)} END"
        for parsed in orders
    )
    return month_first, day_first


FIELDS = (
    Field("CostInBillingCurrency", Holds.AMOUNT, COST[1:], is_required=True),
    _day(*DATE),
    _day("BillingPeriodStartDate"),
    _day("BillingPeriodEndDate"),
    Field("currency", aliases=("BillingCurrencyCode", "BillingCurrency")),
    Field("resource", aliases=("ResourceId", "InstanceId", "InstanceName")),
    Field("ResourceName"),
    Field("ResourceLocation"),
    Field("subscription", aliases=("SubscriptionId", "SubscriptionGuid")),
    Field("BillingAccountId", aliases=("BillingAccountName",)),
    Field("MeterCategory"),
    Field("MeterId"),
    Field("meter", aliases=("MeterName",)),
    Field("product", aliases=("ProductName", "Product")),
    Field("ChargeType"),
    Field("PricingModel"),
    Field("ReservationId"),
    Field("BenefitId"),
    Field("UnitOfMeasure"),
    Field("Quantity", Holds.AMOUNT, ("UsageQuantity",)),
    Field("UnitPrice", Holds.AMOUNT),
    Field("PayGPrice", Holds.AMOUNT),
    Field("PaygCostInBillingCurrency", Holds.AMOUNT),
    Field("ExchangeRatePricingToBilling", Holds.AMOUNT),
    Field("AdditionalInfo"),
    Field("Tags"),
)


def _committed(type_: str, model: str, reservation: str, benefit: str) -> str:
    is_named = f"{model} IN ('reservation', 'savingsplan')"
    is_unnamed = f"{model} IS NULL AND coalesce({reservation}, {benefit}) IS NOT NULL"
    return f"coalesce({is_named} OR {is_unnamed} OR {type_} LIKE 'unused%', false)"


def refine(raw: RawTable, rows: str) -> str:
    """Return the rows with what decides about them: whether a commitment covers them, and which export this is."""
    info = "CASE WHEN ltrim(AdditionalInfo) LIKE '{%' THEN AdditionalInfo ELSE '{' || AdditionalInfo || '}' END"
    inner = f"""SELECT *, coalesce(lower(ChargeType), 'usage') AS charge_type,
        nullif(replace(lower(PricingModel), ' ', ''), '') AS model, {info} AS info,
        CAST({block_size("UnitOfMeasure")} AS BIGINT) AS block
      FROM ({rows})"""
    typed = f"""SELECT *, {_committed("charge_type", "model", "ReservationId", "BenefitId")} AS is_committed,
        CASE WHEN json_valid(info) THEN json_extract_string(info, '$.VMName') END AS machine,
        CASE WHEN json_valid(info) THEN json_extract_string(info, '$.ServiceType') END AS size
      FROM ({inner})"""
    return f"SELECT *, {str(_is_amortized(raw.engine, typed)).lower()} AS is_amortized FROM ({typed})"


def _is_amortized(engine: DuckDB, rows: str) -> bool:
    """Return whether lines show that commitments are spread over what they covered."""
    spread = "charge_type LIKE 'unused%' OR (is_committed AND charge_type = 'usage' AND CostInBillingCurrency <> 0)"
    return bool(engine.rows(f"SELECT 1 FROM ({rows}) WHERE {spread} LIMIT 1"))


def check(raw: RawTable, problems: Problems) -> None:
    """Report dates that are none, and those whose day and month seem to be exchanged."""
    date = column_in(raw, DATE)
    if date is None:
        problems.add(raw.header, "missing column Date", READER.export_advice)
        return
    charges.check_times(raw, [date] if not raw.is_text(date) else [], problems)
    month_first, day_first = _days(raw, date)
    do = "Write 2026-10-31, or 10/31/2026 with the month first, as Azure does."
    raw.check(
        problems,
        f"{month_first} IS NULL",
        f"coalesce({raw.described(date)} || ' is not a day', 'the day is empty')",
        do,
    )
    start = column_in(raw, ("BillingPeriodStartDate",))
    end = column_in(raw, ("BillingPeriodEndDate",))
    if start and end and not problems.found:
        within = f"BETWEEN {_days(raw, start)[0]} AND {_days(raw, end)[0]}"
        exchanged = f"NOT {month_first} {within} AND {day_first} {within}"
        what = f"{raw.described(date)} || ' is in the billing period only with the day first'"
        raw.check(problems, exchanged, what, "Azure writes the month first; undo what changed it, or write 2026-10-31.")


def _priced(price: str) -> str:
    """Return SQL for the cost at a price of one block, exactly; null where it is not known.

    A price of 0 next to a cost is unknown, and so is a cost in another currency.
    """
    product = f"TRY_CAST({price} AS {FACTOR}) * TRY_CAST(Quantity AS {FACTOR})"
    digits = f"CAST(replace(CAST(abs({product}) AS VARCHAR), '.', '') AS HUGEINT)"
    size = f"CAST(block AS HUGEINT) * {PRODUCT_UNITS}"
    cost = f"as_money(CAST(sign({product}) AS HUGEINT) * (({digits} + {size} // 2) // ({size})))"
    is_exact = f"TRY_CAST({price} AS {FACTOR}) = {price} AND TRY_CAST(Quantity AS {FACTOR}) = Quantity"
    is_known = f"{price} <> 0 AND coalesce(ExchangeRatePricingToBilling, 1) = 1 AND {is_exact}"
    is_free = f"{price} = 0 AND CostInBillingCurrency = 0 AND NOT is_committed"
    return f"CASE WHEN {is_known} THEN {cost} WHEN {is_free} THEN CAST(0 AS DECIMAL(38,12)) END"


def _words(words: dict[str, str], column: str) -> str:
    cases = " ".join(f"WHEN '{low}' THEN '{word}'" for low, word in words.items())
    return f"CASE {column} {cases} END"


IS_IN_SCALE_SET = (
    "regexp_matches(lower(resource), '/virtualmachinescalesets/[^/]+$') AND regexp_matches(machine, '_[A-Za-z0-9]+$')"
)
COLUMNS = {
    "BilledCost": "CASE WHEN is_amortized AND is_committed THEN NULL ELSE CostInBillingCurrency END",
    "EffectiveCost": "CostInBillingCurrency",
    "ListCost": f"CASE WHEN coalesce(PaygCostInBillingCurrency, 0) <> 0 THEN PaygCostInBillingCurrency "
    f"WHEN charge_type = 'usage' THEN {_priced('PayGPrice')} END",
    "ContractedCost": f"CASE WHEN charge_type = 'usage' THEN {_priced('UnitPrice')} END",
    "BillingPeriodStart": "BillingPeriodStartDate",
    "BillingPeriodEnd": "BillingPeriodEndDate + INTERVAL 1 DAY",
    "ChargePeriodStart": '"Date"',
    "ChargePeriodEnd": '"Date" + INTERVAL 1 DAY',
    "BillingCurrency": "currency",
    "BillingAccountId": "BillingAccountId",
    "SubAccountId": "subscription",
    "ProviderName": "'Microsoft'",
    "ServiceName": "MeterCategory",
    "ServiceCategory": service_category("MeterCategory"),
    "RegionId": "lower(replace(ResourceLocation, ' ', ''))",
    "ResourceId": f"CASE WHEN {IS_IN_SCALE_SET} THEN resource || '/virtualMachines/' || "
    "regexp_extract(machine, '_([A-Za-z0-9]+)$', 1) ELSE resource END",
    "ResourceName": "coalesce(machine, ResourceName, regexp_extract(resource, '([^/]+)$', 1))",
    "SkuId": "MeterId",
    "ChargeCategory": f"coalesce({_words(CHARGE_TYPES, 'charge_type')}, 'Adjustment')",
    "ChargeClass": "CASE WHEN charge_type = 'refund' THEN 'Correction' END",
    "PricingCategory": f"CASE WHEN charge_type = 'tax' THEN NULL WHEN is_committed THEN 'Committed' "
    f"ELSE coalesce({_words(PRICING_MODELS, 'model')}, 'Standard') END",
    "CommitmentDiscountId": "CASE WHEN is_committed THEN coalesce(BenefitId, ReservationId, resource) END",
    "CommitmentDiscountStatus": "CASE WHEN charge_type LIKE 'unused%' THEN 'Unused' "
    "WHEN is_committed AND charge_type = 'usage' THEN 'Used' END",
    "ChargeDescription": "coalesce(product, meter)",
    "SkuPriceDetails": "CASE WHEN size IS NOT NULL THEN CAST(json_object('InstanceType', size) AS VARCHAR) END",
    "Tags": "Tags",
    "x_TrainfareNote": f"CASE WHEN {_words(CHARGE_TYPES, 'charge_type')} IS NULL "
    "THEN 'unknown charge type ' || ChargeType || ', an Adjustment' "
    f"WHEN is_committed AND is_amortized THEN '{AMORTIZED_ALONE}' WHEN is_committed THEN '{ACTUAL_ALONE}' END",
}


def recognize(head: Head) -> bool:
    names = head.parquet_columns if head.is_parquet else [] if head.is_json else header_names(head)
    given = {simplified(plain_name(name)) for name in names}
    has_cost = any(simplified(name) in given for name in COST)
    return has_cost and "meterid" in given and any(simplified(name) in given for name in DATE)


Pair = tuple[str, ...]
"""An account, a month and a currency."""


class Delivered(Protocol):
    """What decides which export a file is: its lines, and where nothing else tells, its name."""

    @property
    def path(self) -> Location: ...
    @property
    def archive(self) -> Location: ...
    @property
    def number(self) -> int: ...
    @property
    def source(self) -> str: ...


def beside(engine: DuckDB, file: Delivered, others: Sequence[Delivered], select: str) -> str:
    """Return the charges of `file` that count next to the other exports; `select` are all of its charges alone.

    An account and month that both exports have is taken from the amortized one, and commitments are bought in the
    actual one. Elsewhere each stands alone. Both must agree on the rest, or lines say by how much.
    """
    is_amortized = _is_amortized_export(engine, file)
    opposite = [one for one in others if _is_amortized_export(engine, one) != is_amortized]
    same = [file, *(one for one in others if one not in opposite)]
    own, given = (_uncommitted(engine, files) for files in (same, opposite))
    covered = sorted(own.keys() & given.keys())
    if not covered:
        return select
    both, of_commitment = _is_one_of(covered), "commitment_id IS NOT NULL"
    known = f"CASE WHEN {both} AND {of_commitment} THEN NULL ELSE note END"
    if not is_amortized:
        effective = f"CASE WHEN {both} THEN CAST(0 AS DECIMAL(38,12)) ELSE effective END AS effective"
        bought = f"{of_commitment} AND charge_category = 'Purchase'"
        return f"SELECT * REPLACE ({effective}, {known} AS note) FROM ({select}) WHERE NOT {both} OR ({bought})"
    billed = f"CASE WHEN {both} AND {of_commitment} THEN CAST(0 AS DECIMAL(38,12)) ELSE billed END AS billed"
    cases = "".join(
        f"WHEN {_is_one_of([pair])} THEN '{DIFFERENT.format(given[pair] - own[pair])}' "
        for pair in covered
        if given[pair] != own[pair]
    )
    note = f"coalesce({known}, CASE {cases} END)" if cases else known
    return f"SELECT * REPLACE ({billed}, {note} AS note) FROM ({select})"


def _is_one_of(pairs: Sequence[Pair]) -> str:
    """Return SQL for whether a charge is of one of these accounts, months and currencies."""
    listed = ", ".join(f"({quoted(account)}, DATE '{month}', {quoted(currency)})" for account, month, currency in pairs)
    return f"(coalesce(account, ''), billing_month(billing_start, billing_end), currency) IN ({listed})"


def _is_amortized_export(engine: DuckDB, file: Delivered) -> bool:
    """Return whether a file is the amortized export. Without commitments its path decides: both are equal."""
    found = engine.row(
        f"SELECT count(commitment_id), count(*) FILTER (note = '{AMORTIZED_ALONE}') FROM ({_charges(engine, file)})"
    )
    return bool(found[1]) if found[0] else "amorti" in str(file.path).lower()


def _uncommitted(engine: DuckDB, files: Sequence[Delivered]) -> dict[Pair, Decimal]:
    """Return the cost outside of commitments by account, month and currency; both exports state it alike."""
    totals: dict[Pair, Decimal] = defaultdict(Decimal)
    month = "CAST(billing_month(billing_start, billing_end) AS VARCHAR)"
    cost = "sum(CASE WHEN commitment_id IS NULL THEN effective ELSE 0 END)"
    for file in files:
        select = f"SELECT coalesce(account, ''), {month}, currency, {cost} FROM ({_charges(engine, file)}) GROUP BY ALL"
        for *pair, amount in engine.rows(select):
            totals[tuple(pair)] += amount
    return totals


def _charges(engine: DuckDB, file: Delivered) -> str:
    archived = ArchivedFile(file.archive, file.number, file.source)
    return str(READER.rows(engine, archived, ReadOptions(), CHARGES))


READER = NativeBill(
    NAME="azure",
    DESCRIPTION="Azure Cost Management export, actual or amortized cost: CSV (also .gz) or Parquet",
    VERSION="1",
    fields=FIELDS,
    parts=(Part(COLUMNS),),
    export_advice="Export cost and usage details with all columns; see docs/howto/azure.md.",
    recognizes=recognize,
    check=check,
    refine=refine,
    beside=beside,
    zone="UTC",
)
