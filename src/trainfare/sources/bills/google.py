"""Google Cloud's detailed usage cost export -> charges.

BigQuery cannot write nested rows as CSV, so the export comes in many shapes: JSON lines, JSON objects over several
lines, Parquet, CSV with dotted or underscored columns, lists as JSON or as Python prints them. What it says:
- `cost` is without credits, which are negative amounts in a list. Discounts are part of the line's cost. Promotions,
  free tiers, reseller margins and subscription benefits are lines of their own, as is a credit of an unknown type;
- fees of commitments are separate lines, see `google_commitments.py`;
- `invoice.month` is a month in Pacific time, usage is in UTC; an adjustment of an earlier month is a correction;
- rows are only ever appended: one file is one extraction, and a month is extracted as a whole;
- a machine is several lines (GPU, cores, memory) with the same resource; `resource` is only in the detailed export.
Verified: cost plus all credits equals the account to the last digit, in every shape and with both commitment models.
"""

import re

from trainfare.errors import Problems
from trainfare.sources.bills import charges, google_commitments, nested
from trainfare.sources.bills.google_commitments import IS_FEE
from trainfare.sources.bills.google_services import service_category
from trainfare.sources.bills.native import Field, Holds, NativeBill, Part
from trainfare.sources.head import Head
from trainfare.sources.raw import RawTable
from trainfare.sources.rows import header_names, simplified

CREDIT = {"name": "VARCHAR", "amount": charges.FINE, "full_name": "VARCHAR", "id": "VARCHAR", "type": "VARCHAR"}
PAIR = {"key": "VARCHAR", "value": "VARCHAR"}
FOLDED = ("DISCOUNT", "SUSTAINED_USAGE_DISCOUNT", *google_commitments.CREDITS, "FEE_UTILIZATION_OFFSET")
"""Credits that are part of the line's cost."""
SEPARATE = ("PROMOTION", "FREE_TIER", "RESELLER_MARGIN", "SUBSCRIPTION_BENEFIT")
"""Credits that are lines of their own."""
COST_TYPES = ("regular", "tax", "adjustment", "rounding_error")
NO_CREDITS = f"CAST([] AS STRUCT({', '.join(f'{name} {type_}' for name, type_ in CREDIT.items())})[])"
NO_PAIRS = "CAST([] AS STRUCT(key VARCHAR, value VARCHAR)[])"


def _words(words: tuple[str, ...]) -> str:
    return ", ".join(f"'{word}'" for word in words)


def _inner(name: str, parent: str, child: str) -> Field:
    return Field(name, derive=lambda raw: nested.text_in(raw, parent, child))


def _quantity(raw: RawTable) -> str | None:
    text = nested.text_in(raw, "usage", "amount_in_pricing_units")
    return f"TRY_CAST({text or 'NULL'} AS {charges.FINE})"


def _credits(raw: RawTable) -> str:
    return f"coalesce({nested.structs_in(raw, ('credits',), CREDIT) or 'NULL'}, {NO_CREDITS})"


def _pairs(*names: str, parent: str = "", key: str = "pair.key") -> Field:
    """A list of keys and values as a map; of equal keys the first counts."""

    def derive(raw: RawTable) -> str:
        fields = PAIR | ({"namespace": "VARCHAR"} if names[0] == "tags" else {})
        found = nested.structs_in(raw, names, fields, parent)
        if found is None:
            return f"map_from_entries({NO_PAIRS})"
        pairs = f"list_transform({found}, lambda pair: struct_pack(key := {key}, value := pair.value))"
        keys = f"list_transform({pairs}, lambda pair: pair.key)"
        is_first = f"pair.key IS NOT NULL AND list_position({keys}, pair.key) = position"
        first = f"list_filter({pairs}, lambda pair, position: {is_first})"
        return f"map_from_entries(coalesce({first}, {NO_PAIRS}))"

    return Field(f"{names[0]}_map", derive=derive)


def _adjustment(raw: RawTable) -> str:
    parts = [nested.text_in(raw, "adjustment_info", child) for child in ("id", "description", "mode", "type")]
    return f"coalesce({', '.join([part for part in parts if part] + ['CAST(NULL AS VARCHAR)'])})"


FIELDS = (
    Field("billing_account_id", is_required=True),
    Field("usage_start_time", Holds.TIME, is_required=True),
    Field("usage_end_time", Holds.TIME, is_required=True),
    Field("cost", Holds.AMOUNT, is_required=True),
    Field("currency"),
    Field("cost_type"),
    Field("cost_at_list", Holds.AMOUNT),
    Field("cost_at_list_consumption_model", Holds.AMOUNT),
    _inner("service", "service", "description"),
    _inner("sku_id", "sku", "id"),
    _inner("sku", "sku", "description"),
    _inner("project_id", "project", "id"),
    _inner("region_id", "location", "region"),
    _inner("location_name", "location", "location"),
    _inner("resource_name", "resource", "name"),
    _inner("global_name", "resource", "global_name"),
    _inner("invoice_month", "invoice", "month"),
    _inner("pricing_unit", "usage", "pricing_unit"),
    _inner("subscription", "subscription", "instance_id"),
    Field("quantity", derive=_quantity),
    Field("adjustment", derive=_adjustment),
    Field("credits", derive=_credits),
    _pairs("labels"),
    _pairs("project_labels", parent="project"),
    _pairs("system_labels"),
    _pairs("tags", key="concat_ws('/', pair.namespace, pair.key)"),
)


def _sum(types: tuple[str, ...]) -> str:
    chosen = f"list_filter(credits, lambda credit: credit.type IN ({_words(types)}))"
    amounts = f"list_transform({chosen}, lambda credit: credit.amount)"
    return f"coalesce(CAST(list_sum({amounts}) AS {charges.FINE}), 0)"


def refine(raw: RawTable, rows: str) -> str:
    """Return the rows with what the line costs, its part of commitments and its times in Pacific time."""
    # BigQuery nests or repeats what a row has once, so each nested value is extracted once, here.
    local = "timezone('America/Los_Angeles', timezone('UTC', usage_start_time))"
    costs = f"""SELECT * REPLACE (coalesce(lower(cost_type), 'regular') AS cost_type),
        coalesce(region_id, location_name) AS region, CAST(cost + {_sum(FOLDED)} AS {charges.FINE}) AS net,
        CAST(-{_sum(google_commitments.CREDITS)} AS {charges.FINE}) AS covered,
        {_sum(google_commitments.CREDITS[1:])} <> 0 AS is_of_spend,
        timezone('America/Los_Angeles', CAST(strptime(invoice_month || '01', '%Y%m%d') AS TIMESTAMP)) AS invoiced_from,
        timezone('America/Los_Angeles', CAST(strptime(invoice_month || '01', '%Y%m%d') AS TIMESTAMP)
          + INTERVAL 1 MONTH) AS invoiced_to,
        strftime({local}, '%Y%m') AS usage_month,
        list_transform(list_filter(credits, lambda credit: coalesce(credit.type NOT IN ({_words(FOLDED)}), true)),
          lambda credit, position: struct_pack(credit := credit, position := position - 1)) AS separate,
        map_concat(project_labels_map, tags_map, labels_map) AS all_labels
      FROM (SELECT * FROM ({rows}))"""
    sku = nested.text_in(raw, "sku", "description")
    has_fees = bool(
        sku and raw.engine.rows(f"SELECT 1 FROM {raw.relation} WHERE lower({sku}) LIKE 'commitment%' LIMIT 1")
    )
    return google_commitments.spread(raw, costs, has_fees)


def check(raw: RawTable, problems: Problems) -> None:
    """Report credits that cannot be read or have the wrong sign, and invoice months that are none."""
    if broken := nested.broken_lists(raw, "credits"):
        do = "Write credits as a JSON list, as BigQuery does."
        column = str(nested.column_of(raw, "credits"))
        raw.check(problems, broken, f"{raw.described(column)} || ' is not a list of credits'", do)
        if problems.found:
            return
    credits = _credits(raw)
    cost = nested.column_of(raw, "cost")
    unreadable = f"len(list_filter({credits}, lambda credit: credit.amount IS NULL)) > 0"
    do = "Every credit has an amount in digits, such as -1.25; export it again."
    raw.check(problems, unreadable, "'a credit has no amount that can be read'", do)
    if cost is not None:
        positive = (
            f"list_filter({credits}, lambda credit: credit.amount > 0 AND credit.type IN ({_words(FOLDED + SEPARATE)}))"
        )
        what = f"'the credit of ' || CAST(CAST({positive}[1].amount AS DOUBLE) AS VARCHAR) || ' is positive, as is the cost'"
        do = "Credits are negative amounts in Google's export; undo what changed their sign, or export it again."
        raw.check(problems, f"len({positive}) > 0 AND {raw.number(cost, charges.FINE)} > 0", what, do)
    if month := nested.text_in(raw, "invoice", "month"):
        bad = f"NOT regexp_full_match({month}, '(19|20)[0-9]{{2}}(0[1-9]|1[0-2])')"
        do = "It is written as 202610; export it again, as text."
        raw.check(problems, bad, f"'the invoice month ''' || {month} || ''' is not a month'", do)


IS_OTHER_TYPE = f"cost_type NOT IN ({_words(COST_TYPES)})"
COMMON = {
    "BillingPeriodStart": "invoiced_from",
    "BillingPeriodEnd": "invoiced_to",
    "ChargePeriodStart": "usage_start_time",
    "ChargePeriodEnd": "usage_end_time",
    "BillingCurrency": "currency",
    "BillingAccountId": "billing_account_id",
    "SubAccountId": "project_id",
    "ProviderName": "'Google Cloud'",
    "ServiceName": "service",
    "ServiceCategory": service_category("service", "sku"),
    "RegionId": "region",
    "ResourceId": "global_name",
    "ResourceName": "resource_name",
    "SkuId": "sku_id",
    "Tags": "CASE WHEN len(map_keys(all_labels)) > 0 THEN CAST(to_json(all_labels) AS VARCHAR) END",
    "ChargeClass": "CASE WHEN adjustment IS NOT NULL AND invoice_month > usage_month THEN 'Correction' END",
}
LINE = {
    "BilledCost": "net",
    "EffectiveCost": f"CASE WHEN {IS_FEE} THEN 0 ELSE net + fee_share END",
    "ContractedCost": "cost",
    "ListCost": "coalesce(cost_at_list_consumption_model, cost_at_list)",
    "ChargeCategory": f"CASE WHEN cost_type = 'tax' THEN 'Tax' WHEN {IS_FEE} THEN 'Purchase' "
    "WHEN cost_type = 'regular' THEN 'Usage' ELSE 'Adjustment' END",
    "PricingCategory": "CASE WHEN cost_type = 'tax' THEN NULL "
    f"WHEN regexp_matches(lower(sku), 'preemptible|\\bspot\\b') THEN 'Dynamic' "
    f"WHEN {IS_FEE} OR covered > 0 THEN 'Committed' ELSE 'Standard' END",
    "CommitmentDiscountId": f"CASE WHEN {IS_FEE} THEN coalesce(subscription, global_name) WHEN covered > 0 THEN "
    f"list_filter(credits, lambda credit: credit.type IN ({_words(google_commitments.CREDITS)}))[1].id END",
    "CommitmentDiscountStatus": f"CASE WHEN covered > 0 AND NOT {IS_FEE} THEN 'Used' END",
    "ChargeDescription": "sku",
    "SkuPriceDetails": "CASE WHEN system_labels_map['compute.googleapis.com/machine_spec'] IS NOT NULL THEN "
    "CAST(json_object('InstanceType', system_labels_map['compute.googleapis.com/machine_spec']) AS VARCHAR) END",
    "x_TrainfareNote": f"coalesce(CASE WHEN {IS_OTHER_TYPE} THEN 'unknown cost type ' || cost_type || "
    "', an Adjustment' END, commitment_note)",
}
UNUSED = {
    **dict.fromkeys(("BilledCost", "ContractedCost", "ListCost"), "CAST(0 AS DECIMAL(38,12))"),
    "EffectiveCost": "unused_fee",
    "ChargeCategory": "'Usage'",
    "PricingCategory": "'Committed'",
    "CommitmentDiscountId": "coalesce(subscription, global_name)",
    "CommitmentDiscountStatus": "'Unused'",
    "ChargeDescription": "'Unused: ' || sku",
}
SEPARATE_CREDIT = {
    **dict.fromkeys(("BilledCost", "EffectiveCost", "ContractedCost", "ListCost"), "entry.credit.amount"),
    "ChargeCategory": "'Credit'",
    "ChargeDescription": "coalesce(entry.credit.full_name, entry.credit.name, entry.credit.type)",
    "x_TrainfareNote": f"CASE WHEN coalesce(entry.credit.type NOT IN ({_words(SEPARATE)}), true) "
    "THEN 'unknown credit type ' || coalesce(entry.credit.type, '(none)') || ', kept as a Credit' END",
}


def recognize(head: Head) -> bool:
    if head.is_json:
        return all(re.search(rf'"{name}"\s*:', head.text) for name in ("billing_account_id", "usage_start_time"))
    names = {simplified(name) for name in (head.parquet_columns if head.is_parquet else header_names(head))}
    return {"billingaccountid", "usagestarttime"} <= names


READER = NativeBill(
    NAME="google",
    DESCRIPTION="Google Cloud detailed usage cost export: JSON, CSV (also .gz) or Parquet",
    VERSION="1",
    fields=FIELDS,
    parts=(
        Part(COMMON | LINE),
        Part(COMMON | UNUSED, f"{IS_FEE} AND unused_fee <> 0", number=1),
        Part(
            COMMON | SEPARATE_CREDIT,
            each="unnest(separate) AS each(entry)",
            number=2,
            position="entry.position",
        ),
    ),
    export_advice="Export the detailed usage cost table with all of its columns; see docs/howto/google-cloud.md.",
    recognizes=recognize,
    check=check,
    made_json=lambda raw: frozenset({"Tags", "SkuPriceDetails"}),
    refine=refine,
    zone="UTC",
)
