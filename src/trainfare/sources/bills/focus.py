"""FOCUS 1.0 to 1.4 cost and usage -> charges.

Any column order; columns we do not know stay in the archived delivery. What bills really do:
- times come as `2024-09-18T22:00:00Z`, with a space and no zone (UTC is meant), or typed;
- null is written as nothing or, in text files, as the word NULL; an empty text in Parquet is null, too;
- numbers may be DOUBLE in Parquet: the shortest decimal that gives the same DOUBLE is what was meant;
- some exports carry more digits than 10^-12; these are rounded to it, counted in `finer`, and become a finding;
- Tags are JSON text, a Parquet map or list of structs with a key and a value, or (old Azure) JSON without its braces; of equal keys in
  a list the first counts;
- ProviderName was replaced by ServiceProviderName in 1.3 and is gone in 1.4;
- examples and hand-made files leave out columns that the standard demands: BilledCost, EffectiveCost and the
  charge period are needed, the rest is null where it is not there.
"""

import glob
import re

import duckdb

from trainfare.engine.duckdb import DuckDB, quoted
from trainfare.errors import Faults
from trainfare.places import Place, copy
from trainfare.sources.head import Head
from trainfare.sources.raw import (
    FIRST_YEAR,
    LAST_YEAR,
    LINE,
    NUMBERED,
    TAKEN_NAME,
    Raw,
    low_texts,
    open_raw,
    parquet_file,
    parquet_rows,
    raw_of,
    require_columns,
    told,
)
from trainfare.sources.rows import bare, header_names
from trainfare.tables import CHARGE_CATEGORIES, CHARGES, CONVERTED, MONEY

NAME = "focus"
KIND = "bill"
READS = "FOCUS 1.0 to 1.4 bill: CSV (also .gz) or Parquet"

AMOUNTS = {
    "effective": "EffectiveCost",
    "billed": "BilledCost",
    "list": "ListCost",
    "contracted": "ContractedCost",
}
NEEDED = ("BilledCost", "EffectiveCost", "ChargePeriodStart", "ChargePeriodEnd")
TEXTS = {
    "charge_category": ("ChargeCategory",),
    "charge_class": ("ChargeClass",),
    "service_category": ("ServiceCategory",),
    "service_name": ("ServiceName",),
    "provider": ("ServiceProviderName", "ProviderName"),
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
"""No line of a bill is as large in any currency; with 10^11 lines below it a sum still fits."""
MOST_DIGITS = 38
FINE = "DECIMAL(38,22)"
"""As many digits behind the point as there is room for beside those of the largest amount."""
TOO_LONG_YEARS = 17
"""A charge's period must fit `period_key`: less than 2^29 seconds."""
BLANKS = " \t\r\n"
"""What may stand before JSON."""
DAY = 86_400_000_000
"""In microseconds."""
KEYED = re.compile(r'(VARCHAR|JSON|"NULL"|MAP\(.*\)|STRUCT\(.*\))$', re.DOTALL)


def recognise(head: Head) -> bool:
    names = head.parquet_columns if head.is_parquet else [] if head.is_json else header_names(head)
    return bool({"billedcost", "effectivecost"} & {bare(name) for name in names})


def archive(engine: DuckDB, head: Head, target: Place, currency: str | None, faults: Faults) -> int:
    """Check every line and keep the file as Parquet at `target`; returns the lines, or adds faults, keeping nothing."""
    before = len(faults.found)
    raw = open_raw(engine, head, "delivered", faults)
    if raw is None:
        return 0
    with told(head, faults):
        if head.is_parquet:
            _check_wide(raw, faults)
            raw.read_through(USED)
        _check(raw, currency, faults)
    if len(faults.found) > before:
        return 0
    target.parent.mkdir(parents=True, exist_ok=True)
    if head.is_parquet and not head.is_gzip:
        copy(head.path, target)
    else:
        engine.write_parquet(_kept(raw), target, in_order=True)
    lines: int = engine.row(f"SELECT count(*) FROM {raw.relation}")[0]
    engine.run(f"DROP {'VIEW' if head.is_parquet else 'TABLE'} {raw.relation}")
    return lines


def _kept(raw: Raw) -> str:
    """A SELECT of the rows as they are archived: times and amounts in text, which every step would else read again, as what they mean,
    where nothing is lost by it.
    """
    typed = {name: raw.moment(name) for name in TIMES.values() if raw.is_text(name)}
    typed |= {name: raw.number(name, MONEY) for name in AMOUNTS.values() if raw.is_text(name) and raw.is_short(name)}
    replaced = ", ".join(f"{sql} AS {raw.at(name)[0]}" for name, sql in typed.items())
    return f"SELECT * EXCLUDE (line) {f'REPLACE ({replaced})' if replaced else ''} FROM {raw.relation}"


def charges(engine: DuckDB, archived: Place, delivery: int, source: str, currency: str | None) -> str:
    """A SELECT that gives the archived file as the columns of `tables.CHARGES`."""
    low = low_texts(engine, archived)
    engine.view("archived", parquet_rows(archived, low))
    raw = raw_of(engine, "archived", archived)
    engine.run("DROP VIEW archived")
    columns = {"delivery": f"CAST({delivery} AS INTEGER)", "line": "line" if low else LINE, "source": quoted(source)}
    columns |= {column.name: f"CAST(NULL AS {column.type})" for column in CHARGES.columns if column.name in CONVERTED}
    columns["origin"] = "'bill'"
    columns |= {name: raw.moment(given) for name, given in TIMES.items()}
    columns |= _billing_period(columns["billing_start"], columns["billing_end"], columns["period_start"])
    columns |= {name: raw.number(given, MONEY) for name, given in AMOUNTS.items()}
    columns |= {name: _either(raw, names) for name, names in TEXTS.items()}
    columns["charge_category"] = f"coalesce({columns['charge_category']}, 'Usage')"
    columns["currency"] = _currency(raw, currency)
    columns["tags"] = _tags(raw, may_begin_blank=any(name.lower() == "tags" for name in low))
    columns["price_details"] = _json_text(raw, "SkuPriceDetails")
    columns["finer"] = " + ".join(_finer(raw, name) for name in AMOUNTS.values())
    select = ", ".join(f'{columns[name]} AS "{name}"' for name in CHARGES.names)
    # Right from the file if it can be: only then does the engine skip what no time that is asked for lies in.
    return f"SELECT {select} FROM {parquet_file(archived) if not low else f'({parquet_rows(archived, low)})'}"


def _billing_period(start: str, end: str, charged: str) -> dict[str, str]:
    """Both sides of the billing period. Of a line that tells one, it lies within two days of that: the month is the told one's,
    and a zone's shift does not move it. A line that tells none is of the month it was charged in.
    """
    untold = f"date_trunc('month', {charged})"
    # In microseconds, which every engine adds alike.
    after, before = (f"make_timestamp(epoch_us({told}) + {days * DAY})" for told, days in ((start, 2), (end, -2)))
    return {
        "billing_start": f"coalesce({start}, {before}, {untold})",
        "billing_end": f"coalesce({end}, {after}, {untold})",
    }


def _either(raw: Raw, names: tuple[str, ...]) -> str:
    there = [raw.text(name) for name in names if raw.has(name)]
    return f"coalesce({', '.join(there)})" if len(there) > 1 else there[0] if there else "CAST(NULL AS VARCHAR)"


def _currency(raw: Raw, currency: str | None) -> str:
    told = quoted(currency) if currency else "CAST(NULL AS VARCHAR)"
    return f"coalesce({raw.text('BillingCurrency')}, {told})" if raw.has("BillingCurrency") else told


def _json_text(raw: Raw, name: str) -> str:
    if not raw.has(name):
        return "CAST(NULL AS VARCHAR)"
    column, type_ = raw.at(name)
    if type_ == "VARCHAR":
        return column
    if _lists_pairs(type_):
        return f"CAST(to_json({_paired(column)}) AS VARCHAR)"
    return f"CAST(to_json({column}) AS VARCHAR)"


def _lists_pairs(type_: str) -> bool:
    """Whether a column's type is a list of structs that have a key and a value, whatever else they have."""
    if not type_.endswith("[]"):
        return False
    entry = duckdb.sqltype(type_.removesuffix("[]"))
    return entry.id == "struct" and {"key", "value"} <= {str(name).lower() for name, _ in entry.children}


def _paired(pairs: str) -> str:
    """SQL for a list of keys and values as a map. Of equal keys the first counts, and no key is no tag."""
    keys = f"list_transform({pairs}, lambda pair: pair.key)"
    counts = f"pair.key IS NOT NULL AND list_position({keys}, pair.key) = place"
    pair = "struct_pack(key := CAST(pair.key AS VARCHAR), value := pair.value)"
    return f"map_from_entries(list_transform(list_filter({pairs}, lambda pair, place: {counts}), lambda pair: {pair}))"


def _tags(raw: Raw, may_begin_blank: bool) -> str:
    tags = _json_text(raw, "Tags")
    if not raw.is_text("Tags"):
        return tags
    if may_begin_blank:
        tags = f"ltrim({tags}, {quoted(BLANKS)})"
    return f"CASE WHEN {tags} LIKE '{{%' THEN {tags} WHEN {tags} IS NOT NULL THEN '{{' || {tags} || '}}' END"


def _finer(raw: Raw, name: str) -> str:
    """SQL that is 1 where an amount has digits beyond 10^-12, typed so that short decimals cost nothing."""
    if not raw.has(name):
        return "0"
    column, type_ = raw.at(name)
    if (type_.startswith("DECIMAL") and int(type_.rstrip(")").split(",")[1]) <= 12) or "INT" in type_:
        return "0"
    text, money = column if type_ == "VARCHAR" else f"CAST({column} AS VARCHAR)", raw.number(name, MONEY)
    is_cut = f"TRY_CAST({text} AS {FINE}) <> {money}"
    is_gone = f"{money} = 0 AND TRY_CAST({text} AS DOUBLE) <> 0"
    return f"CASE WHEN {is_cut} OR {is_gone} THEN 1 ELSE 0 END"


def _check(raw: Raw, currency: str | None, faults: Faults) -> None:
    do = "Export the bill as FOCUS 1.0 or later, with all of its columns."
    if not require_columns(raw, NEEDED, USED, faults, do):
        return
    if raw.has(NUMBERED):  # the kept copy is Parquet
        faults.add(raw.header, *TAKEN_NAME)
    for name in AMOUNTS.values():
        do = "Write it as digits with a point, such as -12.50; a line is less than 10^15."
        raw.check_number(faults, name, MONEY, "an amount", TOO_LARGE, do)
    for name in TIMES.values():
        raw.check_moment(faults, name, "Write it in UTC, as in 2026-10-01T00:00:00Z.")
    for name in NEEDED:
        raw.check_present(faults, name, "FOCUS demands a value on every line; export the bill again.")
    _check_period(raw, "Charge", faults)
    if raw.has("BillingPeriodStart") and raw.has("BillingPeriodEnd"):
        _check_period(raw, "Billing", faults)
    _check_currency(raw, currency, faults)
    _check_words(raw, faults)


def _check_wide(raw: Raw, faults: Faults) -> None:
    """No amount may be a decimal of more digits than the engine keeps: it would be read as a float, and digits would be lost."""
    schema = f"parquet_schema({quoted(glob.escape(str(raw.path)))})"
    for name, digits in raw.engine.rows(
        f"SELECT name, precision FROM {schema} WHERE precision > {MOST_DIGITS} ORDER BY name"
    ):
        if str(name).lower() in {amount.lower() for amount in AMOUNTS.values()}:
            what = f"column {name} has decimals of {digits} digits, which cannot be read exactly"
            faults.add(raw.header, what, f"Export it with at most {MOST_DIGITS}, as in DECIMAL(38,12).")


def _check_period(raw: Raw, kind: str, faults: Faults) -> None:
    start, end = (f"({raw.moment(f'{kind}Period{which}')})" for which in ("Start", "End"))
    ends = f"'the {kind.lower()} period ends (' || {end} || ') before it starts (' || {start} || ')'"
    lasts = f"'the {kind.lower()} period lasts more than {TOO_LONG_YEARS} years (' || {start} || ' to ' || {end} || ')'"
    ours = f"{start} >= DATE '{FIRST_YEAR}-01-01' AND {end} <= DATE '{LAST_YEAR}-12-31'"
    raw.check(
        faults,
        f"{ours} AND ({end} < {start} OR {end} >= {start} + INTERVAL {TOO_LONG_YEARS} YEAR)",
        f"CASE WHEN {end} < {start} THEN {ends} ELSE {lasts} END",
        "The end is exclusive and later than the start; export the bill again.",
        [f"{kind}PeriodStart", f"{kind}PeriodEnd"],
    )


def _check_currency(raw: Raw, currency: str | None, faults: Faults) -> None:
    told = _currency(raw, currency)
    do = 'Export the BillingCurrency column, or set currency = "USD" (or yours) in the settings.'
    if not raw.has("BillingCurrency") and not currency:
        faults.add(raw.header, "no column BillingCurrency, and no currency is set", do)
        return
    of = ["BillingCurrency"] if raw.has("BillingCurrency") else []
    raw.check(faults, f"{told} IS NULL", "'BillingCurrency is empty'", do, of)
    shown = f"'BillingCurrency ''' || {told} || ''' is not a currency code'"
    raw.check(faults, f"NOT regexp_full_match({told}, '[A-Z]{{3}}')", shown, "Use an ISO 4217 code such as USD.", of)


def _check_words(raw: Raw, faults: Faults) -> None:
    if raw.has("ChargeCategory"):
        allowed = ", ".join(quoted(word) for word in CHARGE_CATEGORIES)
        shown = f"{raw.shown('ChargeCategory')} || ' is not known'"
        do = f"FOCUS has {', '.join(CHARGE_CATEGORIES)}."
        raw.check(faults, f"{raw.text('ChargeCategory')} NOT IN ({allowed})", shown, do, ["ChargeCategory"])
    for name in ("Tags", "SkuPriceDetails"):
        if raw.has(name):
            _check_keyed(raw, name, faults)


def _check_keyed(raw: Raw, name: str, faults: Faults) -> None:
    """What holds tags or details must have keys; text and JSON are asked line by line."""
    held = raw.at(name)[1]
    if not KEYED.match(held) and not _lists_pairs(held):
        do = 'Write a flat JSON object such as {"team": "nlp"}, a map, or a list of structs with a key and a value.'
        faults.add(raw.header, f"column {name} has type {held}, which has no keys with values", do)
    if held == "JSON" or (name == "Tags" and held == "VARCHAR"):
        words = _tags(raw, may_begin_blank=True) if held == "VARCHAR" else raw.text(name)
        bad = f"{words} IS NOT NULL AND NOT (json_valid({words}) AND ltrim({words}, {quoted(BLANKS)}) LIKE '{{%')"
        do = 'Write a flat object such as {"team": "nlp"}.'
        raw.check(faults, bad, f"{raw.shown(name)} || ' is not a JSON object'", do, [name])
