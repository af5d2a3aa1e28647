"""FOCUS as providers write it: where their files differ from the standard, and what is meant.

- Google's published BigQuery view writes values in lower case (`usage`, `correction`, `standard`) and `error` for a
  cost type it does not know: an Adjustment. Its BillingPeriodEnd is the last day of the month, inclusive, in Pacific
  time; the middle of the period still names the month. SubAccountId repeats the billing account, and the project is in
  `x_Project`. ServiceCategory is a list of Google's product taxonomy, so the category comes from service and SKU. Tags
  are a list of keys and values that includes system labels, one of which names the machine type.
- OCI calls the provider `Provider` and the region `Region`, and has no ChargeClass.
- Azure writes 0 for a list or contracted cost that it does not state, on reservation, savings plan and marketplace
  lines: 0 next to another cost is unknown.
"""

import glob

from trainfare.engine.duckdb import DuckDB
from trainfare.engine.sql import quoted
from trainfare.files.locations import Location
from trainfare.sources.bills.google_services import service_category
from trainfare.sources.bills.literals import as_json, object_of_pairs
from trainfare.sources.raw import RawTable
from trainfare.tables import CHARGE_CATEGORIES

WORDS = {
    "ChargeCategory": {**{word.lower(): word for word in CHARGE_CATEGORIES}, "error": "Adjustment"},
    "ChargeClass": {"correction": "Correction"},
    "PricingCategory": {word.lower(): word for word in ("Standard", "Dynamic", "Committed", "Other")},
    "CommitmentDiscountStatus": {"used": "Used", "unused": "Unused"},
    "CapacityReservationStatus": {"used": "Used", "unused": "Unused"},
}
"""By column: a value in lower case, and how the standard spells it."""
SERVICE_CATEGORIES = (
    *("AI and Machine Learning", "Analytics", "Business Applications", "Compute", "Databases", "Developer Tools"),
    *("Multicloud", "Identity", "Integration", "Internet of Things", "Management and Governance", "Media", "Migration"),
    *("Mobile", "Networking", "Security", "Storage", "Web", "Other"),
)
GOOGLE = "x_CostType"
"""A column that only Google's view has."""
COST_TYPES = ("regular", "tax", "adjustment", "rounding_error")
PROJECT_IDS = ("x_ProjectId", "x_Project.id", "x_Project_id")
MACHINE_TYPE = '$."compute.googleapis.com/machine_spec"'
PROVIDERS = ("ServiceProviderName", "ProviderName", "Provider")


def standard_words(raw: RawTable) -> dict[str, str]:
    """Return SQL for each column of which a value is not spelled as in the standard."""
    return {name: sql for name in WORDS if raw.is_text(name) and (sql := _standard_spelling(raw, name))}


def _standard_spelling(raw: RawTable, name: str) -> str | None:
    column, words = raw.column(name)[0], WORDS[name]
    spelled, known = (", ".join(map(quoted, set(given))) for given in (words.values(), words))
    other = f"{column} NOT IN ({spelled}) AND lower({column}) IN ({known})"
    if not raw.engine.rows(f"SELECT 1 FROM {raw.relation} WHERE {other} LIMIT 1"):
        return None
    cases = " ".join(f"WHEN {quoted(low)} THEN {quoted(word)}" for low, word in words.items())
    return f"CASE lower({column}) {cases} ELSE {column} END"


def listed_tags(raw: RawTable) -> str | None:
    """Return SQL for tags in text of which some are a list of keys and values; None if none are."""
    if not raw.is_text("Tags"):
        return None
    column = raw.column("Tags")[0]
    if not raw.engine.rows(f"SELECT 1 FROM {raw.relation} WHERE starts_with(ltrim({column}), '[') LIMIT 1"):
        return None
    text = f"CASE WHEN starts_with(ltrim({column}), '[') THEN {as_json(column)} END"
    return f"coalesce({object_of_pairs(text)}, {column})"


def charge_columns(raw: RawTable, columns: dict[str, str]) -> dict[str, str]:
    """Return SQL for the columns of charges that this file's provider writes differently, given all of them."""
    if raw.has(GOOGLE):
        return _google_columns(raw, columns)
    return _azure_columns(columns) if _is_of_azure(raw.engine, raw, raw.path) else {}


def _google_columns(raw: RawTable, columns: dict[str, str]) -> dict[str, str]:
    known = f"{columns['service_category']} IN ({', '.join(map(quoted, SERVICE_CATEGORIES))})"
    ours = service_category(columns["service_name"], columns["description"])
    changed = {"note": _unknown_cost_type(raw)}
    changed |= {"service_category": f"CASE WHEN {known} THEN {columns['service_category']} ELSE {ours} END"}
    if project := _project(raw):
        account = columns["account"]
        is_repeated = f"{account} IS NOT DISTINCT FROM {columns['billing_account']}"
        changed["account"] = f"CASE WHEN {is_repeated} THEN coalesce({project}, {account}) ELSE {account} END"
    if not raw.has("SkuPriceDetails"):
        machine_type = f"json_extract_string({columns['tags']}, {quoted(MACHINE_TYPE)})"
        details = f"CAST(json_object('InstanceType', {machine_type}) AS VARCHAR)"
        changed["price_details"] = f"CASE WHEN {machine_type} IS NOT NULL THEN {details} END"
    return changed


def _unknown_cost_type(raw: RawTable) -> str:
    """Return SQL for what the view does not say of lines whose cost type it does not know, and calls an error."""
    type_ = raw.text(GOOGLE)
    known = ", ".join(map(quoted, COST_TYPES))
    return f"CASE WHEN lower({type_}) NOT IN ({known}) THEN 'unknown cost type ' || {type_} || ', an Adjustment' END"


def _project(raw: RawTable) -> str | None:
    for name in PROJECT_IDS:
        if raw.has(name):
            return raw.text(name)
    if not raw.has("x_Project"):
        return None
    column, type_ = raw.column("x_Project")
    if type_.startswith("STRUCT"):
        return f"CAST({column}.id AS VARCHAR)"
    text = as_json(raw.text("x_Project"))
    return f"CASE WHEN json_valid({text}) THEN json_extract_string({text}, '$.id') END"


def _azure_columns(columns: dict[str, str]) -> dict[str, str]:
    is_cost = f"{columns['effective']} <> 0 OR {columns['billed']} <> 0 OR {columns['commitment_id']} IS NOT NULL"
    is_azure = f"{columns['provider']} LIKE 'Microsoft%'"
    return {
        basis: f"CASE WHEN {columns[basis]} = 0 AND {is_azure} AND ({is_cost}) THEN NULL ELSE {columns[basis]} END"
        for basis in ("list", "contracted")
    }


def _is_of_azure(engine: DuckDB, raw: RawTable, path: Location) -> bool:
    """Return whether a line of an archived bill may be Azure's, judging by the statistics of the file."""
    names = [quoted(raw.columns[name.lower()][0]) for name in PROVIDERS if raw.has(name)]
    if not names:
        return False
    metadata = f"parquet_metadata({quoted(glob.escape(str(path)))})"
    low, high = "coalesce(stats_min_value, stats_min)", "coalesce(stats_max_value, stats_max)"
    may_be = f"coalesce({low} <= 'Microsoft~' AND {high} >= 'Microsoft', stats_null_count IS DISTINCT FROM num_values)"
    named = f"path_in_schema IN ({', '.join(names)})"
    return bool(engine.rows(f"SELECT 1 FROM {metadata} WHERE {named} AND {may_be} LIMIT 1"))
