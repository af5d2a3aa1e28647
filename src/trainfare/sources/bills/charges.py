"""Bill lines with FOCUS columns: what every bill is checked for, and how its lines become charges.

FOCUS files have these columns; every other bill gets them by its mapping. Times and amounts may be text or typed.
"""

import glob
import re
from collections.abc import Iterable

import duckdb

from trainfare.engine.duckdb import quoted
from trainfare.errors import Problems
from trainfare.sources.bills import dialects
from trainfare.sources.raw import FIRST_YEAR, LAST_YEAR, RESERVED_NAME, ROW_NUMBER, RawTable, is_short_decimal
from trainfare.tables import CHARGE_CATEGORIES, CHARGES, CONVERTED, MONEY

AMOUNTS = {
    "effective": "EffectiveCost",
    "billed": "BilledCost",
    "list": "ListCost",
    "contracted": "ContractedCost",
}
REQUIRED = ("BilledCost", "EffectiveCost", "ChargePeriodStart", "ChargePeriodEnd")
TEXTS = {
    "charge_category": ("ChargeCategory",),
    "charge_class": ("ChargeClass",),
    "service_category": ("ServiceCategory",),
    "service_name": ("ServiceName",),
    "provider": ("ServiceProviderName", "ProviderName", "Provider"),
    "billing_account": ("BillingAccountId",),
    "account": ("SubAccountId", "BillingAccountId"),
    "region": ("RegionId", "Region"),
    "resource_id": ("ResourceId",),
    "resource_name": ("ResourceName",),
    "resource_type": ("ResourceType",),
    "sku_id": ("SkuId",),
    "pricing_category": ("PricingCategory",),
    "commitment_id": ("CommitmentDiscountId",),
    "commitment_status": ("CommitmentDiscountStatus",),
    "reservation_status": ("CapacityReservationStatus",),
    "description": ("ChargeDescription",),
    "note": ("x_TrainfareNote",),
}
TIMES = {
    "period_start": "ChargePeriodStart",
    "period_end": "ChargePeriodEnd",
    "billing_start": "BillingPeriodStart",
    "billing_end": "BillingPeriodEnd",
}
USED = (
    *AMOUNTS.values(),
    *TIMES.values(),
    *(name for names in TEXTS.values() for name in names),
    *("BillingCurrency", "Tags", "SkuPriceDetails"),
)
TOO_LARGE = 10**15
"""No bill has a line this large in any currency, and a sum of 10^11 smaller lines still fits."""
MOST_DIGITS = 38
FINE = "DECIMAL(38,22)"
"""As many decimals as fit next to the digits of the largest amount."""
TOO_LONG_YEARS = 17
"""A charge's period must fit `period_key`: less than 2^29 seconds."""
BLANKS = " \t\r\n"
"""Characters that may precede JSON."""
DAY_US = 86_400_000_000
KEYED_TYPE = re.compile(r'(VARCHAR|JSON|"NULL"|MAP\(.*\)|STRUCT\(.*\))$', re.DOTALL)


def charge_columns(raw: RawTable, currency: str | None, may_start_blank: bool) -> dict[str, str]:
    """Return SQL for the columns of `tables.CHARGES` that come from the bill."""
    columns = {column.name: f"CAST(NULL AS {column.type})" for column in CHARGES.columns if column.name in CONVERTED}
    columns["origin"] = "'bill'"
    columns |= {name: raw.timestamp(given) for name, given in TIMES.items()}
    columns |= _billing_period(columns["billing_start"], columns["billing_end"], columns["period_start"])
    columns |= {name: raw.number(given, MONEY) for name, given in AMOUNTS.items()}
    columns |= {name: _first_given(raw, names) for name, names in TEXTS.items()}
    columns["charge_category"] = f"coalesce({columns['charge_category']}, 'Usage')"
    columns["currency"] = currency_code(raw, "BillingCurrency", currency)
    columns["tags"] = _tags(raw, may_start_blank)
    columns["price_details"] = _json_text(raw, "SkuPriceDetails")
    columns["finer"] = " + ".join(_finer(raw, name) for name in AMOUNTS.values())
    return columns | dialects.charge_columns(raw, columns)


def _billing_period(start: str, end: str, charged: str) -> dict[str, str]:
    """Return SQL for the start and end of the billing period.

    If a line has only one of them, the other is set two days from it: the month is that of the given one, and a shift
    by a time zone does not change it. A line with neither belongs to the month it was charged in.
    """
    month = f"date_trunc('month', {charged})"
    # In microseconds, which all engines add in the same way.
    after, before = (f"make_timestamp(epoch_us({given}) + {days * DAY_US})" for given, days in ((start, 2), (end, -2)))
    return {
        "billing_start": f"coalesce({start}, {before}, {month})",
        "billing_end": f"coalesce({end}, {after}, {month})",
    }


def _first_given(raw: RawTable, names: tuple[str, ...]) -> str:
    given = [raw.text(name) for name in names if raw.has(name)]
    return f"coalesce({', '.join(given)})" if len(given) > 1 else given[0] if given else "CAST(NULL AS VARCHAR)"


def currency_code(raw: RawTable, name: str, currency: str | None) -> str:
    """Return SQL for the currency of a line; `currency` is that of lines without one."""
    default = quoted(currency) if currency else "CAST(NULL AS VARCHAR)"
    return f"coalesce({raw.text(name)}, {default})" if raw.has(name) else default


def _json_text(raw: RawTable, name: str) -> str:
    if not raw.has(name):
        return "CAST(NULL AS VARCHAR)"
    column, type_ = raw.column(name)
    if type_ == "VARCHAR":
        return column
    if _is_list_of_pairs(type_):
        return f"CAST(to_json({_map_of_pairs(column)}) AS VARCHAR)"
    return f"CAST(to_json({column}) AS VARCHAR)"


def _is_list_of_pairs(type_: str) -> bool:
    """Return whether a type is a list of structs with a key and a value, whatever else they have."""
    if not type_.endswith("[]"):
        return False
    entry = duckdb.sqltype(type_.removesuffix("[]"))
    return entry.id == "struct" and {"key", "value"} <= {str(name).lower() for name, _ in entry.children}


def _map_of_pairs(pairs: str) -> str:
    """Return SQL for a list of keys and values as a map. Of equal keys the first counts; a null key is ignored."""
    keys = f"list_transform({pairs}, lambda pair: pair.key)"
    counts = f"pair.key IS NOT NULL AND list_position({keys}, pair.key) = position"
    pair = "struct_pack(key := CAST(pair.key AS VARCHAR), value := pair.value)"
    return (
        f"map_from_entries(list_transform(list_filter({pairs}, lambda pair, position: {counts}), lambda pair: {pair}))"
    )


def _tags(raw: RawTable, may_start_blank: bool) -> str:
    tags = _json_text(raw, "Tags")
    if not raw.is_text("Tags"):
        return tags
    if may_start_blank:
        tags = f"ltrim({tags}, {quoted(BLANKS)})"
    return f"CASE WHEN {tags} LIKE '{{%' THEN {tags} WHEN {tags} IS NOT NULL THEN '{{' || {tags} || '}}' END"


def _finer(raw: RawTable, name: str) -> str:
    """Return SQL that is 1 if an amount has digits beyond 10^-12; for types without such digits it is a constant."""
    if not raw.has(name):
        return "0"
    column, type_ = raw.column(name)
    if (type_.startswith("DECIMAL") and int(type_.rstrip(")").split(",")[1]) <= 12) or "INT" in type_:
        return "0"
    if type_.startswith("DECIMAL"):
        return f"CASE WHEN {column} <> {raw.number(name, MONEY)} THEN 1 ELSE 0 END"
    text, money = column if type_ == "VARCHAR" else f"CAST({column} AS VARCHAR)", raw.number(name, MONEY)
    is_rounded = f"TRY_CAST({text} AS {FINE}) <> {money}"
    is_lost = f"{money} = 0 AND TRY_CAST({text} AS DOUBLE) <> 0"
    is_short = f"WHEN {is_short_decimal(column)} THEN 0 " if type_ == "DOUBLE" else ""
    return f"CASE {is_short}WHEN {is_rounded} OR {is_lost} THEN 1 ELSE 0 END"


def have_finer_digits(raw: RawTable, names: Iterable[str]) -> bool:
    """Return whether an amount in one of these columns has digits beyond 10^-12."""
    finer = [sql for name in names if (sql := _finer(raw, name)) != "0"]
    return bool(finer and raw.engine.rows(f"SELECT 1 FROM {raw.relation} WHERE {' + '.join(finer)} > 0 LIMIT 1"))


def check(raw: RawTable, currency: str | None, problems: Problems) -> None:
    """Report every line whose FOCUS columns cannot be read, or contradict each other."""
    if raw.has(ROW_NUMBER):  # the archived copy is Parquet
        problems.add(raw.header, *RESERVED_NAME)
    check_amounts(raw, AMOUNTS.values(), problems)
    check_times(raw, TIMES.values(), problems)
    for name in REQUIRED:
        if name != "BilledCost" or not raw.has("x_TrainfareNote"):  # a reader may leave it unknown, with a reason
            raw.check_present(problems, name, "FOCUS requires a value on every line; export the bill again.")
    check_period(raw, "charge", ("ChargePeriodStart", "ChargePeriodEnd"), problems)
    check_period(raw, "billing", ("BillingPeriodStart", "BillingPeriodEnd"), problems)
    check_currency(raw, "BillingCurrency", currency, problems)
    _check_categories(raw, problems)
    for name in ("Tags", "SkuPriceDetails"):
        if raw.has(name):
            _check_keyed(raw, name, problems)


def check_amounts(raw: RawTable, names: Iterable[str], problems: Problems) -> None:
    """Report amounts that cannot be read exactly."""
    for name in names:
        do = "Write digits with a decimal point, such as -12.50; amounts are below 10^15."
        raw.check_number(problems, name, MONEY, "an amount", TOO_LARGE, do)


def check_times(raw: RawTable, names: Iterable[str], problems: Problems) -> None:
    """Report times that cannot be read."""
    for name in names:
        raw.check_time(problems, name, "Write it in UTC, as in 2026-10-01T00:00:00Z.")


def check_wide(raw: RawTable, names: Iterable[str], problems: Problems) -> None:
    """No amount may have more digits than the engine supports: it would be read as a float and lose digits."""
    schema = f"parquet_schema({quoted(glob.escape(str(raw.path)))})"
    amounts = {raw.columns[name.lower()][0].lower() for name in names if raw.has(name)}
    for name, digits in raw.engine.rows(
        f"SELECT name, precision FROM {schema} WHERE precision > {MOST_DIGITS} ORDER BY name"
    ):
        if str(name).lower() in amounts:
            what = f"column {name} has decimals of {digits} digits, which cannot be read exactly"
            problems.add(raw.header, what, f"Export it with at most {MOST_DIGITS}, as in DECIMAL(38,12).")


def check_period(raw: RawTable, kind: str, names: tuple[str, str], problems: Problems) -> None:
    """Report periods that end before they start, or are implausibly long."""
    if not all(raw.has(name) for name in names):
        return
    start, end = (f"({raw.timestamp(name)})" for name in names)
    ends = f"'the {kind} period ends (' || {end} || ') before it starts (' || {start} || ')'"
    lasts = f"'the {kind} period lasts more than {TOO_LONG_YEARS} years (' || {start} || ' to ' || {end} || ')'"
    plausible = f"{start} >= DATE '{FIRST_YEAR}-01-01' AND {end} <= DATE '{LAST_YEAR}-12-31'"
    raw.check(
        problems,
        f"{plausible} AND ({end} < {start} OR {end} >= {start} + INTERVAL {TOO_LONG_YEARS} YEAR)",
        f"CASE WHEN {end} < {start} THEN {ends} ELSE {lasts} END",
        "The end is exclusive and must be later than the start; export the bill again.",
        names,
    )


def check_currency(raw: RawTable, name: str, currency: str | None, problems: Problems) -> None:
    """Report lines without a valid currency; `currency` is that of lines without one."""
    code = currency_code(raw, name, currency)
    do = f'Export the {name} column, or set the currency in the settings, as in currency = "USD".'
    if not raw.has(name) and not currency:
        problems.add(raw.header, f"missing column {name}, and no currency is set", do)
        return
    columns = [name] if raw.has(name) else []
    raw.check(problems, f"{code} IS NULL", quoted(f"{name} is empty"), do, columns)
    message = f"{quoted(f'{name} ')} || '''' || {code} || ''' is not a currency code'"
    bad = f"NOT regexp_full_match({code}, '[A-Z]{{3}}')"
    raw.check(problems, bad, message, "Use an ISO 4217 code such as USD.", columns)


def _check_categories(raw: RawTable, problems: Problems) -> None:
    if raw.has("ChargeCategory"):
        allowed = ", ".join(quoted(word) for word in dialects.WORDS["ChargeCategory"])
        message = f"{raw.described('ChargeCategory')} || ' is not a valid value'"
        do = f"Use one of {', '.join(CHARGE_CATEGORIES)}, as FOCUS defines."
        raw.check(problems, f"lower({raw.text('ChargeCategory')}) NOT IN ({allowed})", message, do, ["ChargeCategory"])


def _check_keyed(raw: RawTable, name: str, problems: Problems) -> None:
    """The type of tags and price details must have keys; text and JSON are checked line by line."""
    type_ = raw.column(name)[1]
    if not KEYED_TYPE.match(type_) and not _is_list_of_pairs(type_):
        do = 'Write a flat JSON object such as {"team": "nlp"}, a map, or a list of structs with a key and a value.'
        problems.add(raw.header, f"column {name} has type {type_}, which has no keys and values", do)
    if type_ == "JSON" or (name == "Tags" and type_ == "VARCHAR"):
        text = _tags(raw, may_start_blank=True) if type_ == "VARCHAR" else raw.text(name)
        if name == "Tags" and (listed := dialects.listed_tags(raw)):
            text = listed
        bad = f"{text} IS NOT NULL AND NOT (json_valid({text}) AND ltrim({text}, {quoted(BLANKS)}) LIKE '{{%')"
        do = 'Write a flat object such as {"team": "nlp"}.'
        raw.check(problems, bad, f"{raw.described(name)} || ' is not a JSON object'", do, [name])
