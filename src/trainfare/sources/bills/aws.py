"""AWS Cost and Usage Report -> charges: the legacy report (CSV, Parquet) and CUR 2.0 of Data Exports.

Both have the same columns in different spellings; users choose which of them they export, so any may be missing.
What the reports do, and what becomes of it:
- **Commitments.** A usage row covered by a savings plan carries its on-demand cost, which a SavingsPlanNegation row
  takes back; what it really costs is in SavingsPlanEffectiveCost. So covered rows are billed 0, and negations are no
  charges. A recurring fee becomes two charges: the purchase, and the unused part of the commitment. Reservations
  (DiscountedUsage, RIFee) are treated alike. Upfront fees are billed and have no effective cost.
- **Private discounts.** If the report has net columns, effective cost is net and discount rows have none; if not,
  discount rows count. Billed cost is always unblended cost, with the discount rows: it ties to the invoice.
- **Split cost allocation.** Rows per pod or task repeat the cost of their machine. They stay in the copy and are no
  charges.
- **Types.** An unknown LineItemType is kept as an adjustment with its unblended cost, and reported.
- LineItemId is unique only within a file of a delivery, so it identifies nothing here.
- The InvoiceId is empty until the month is final.
- Times are UTC. Amounts are text in CSV and floats in Parquet, of which the shortest decimal is meant.
- Tags: `resourceTags/user:team`, `resource_tags_user_team` or a map with `user_team` are all the tag `team`; tags that
  AWS sets keep their prefix.
"""

from trainfare.engine.duckdb import quoted
from trainfare.errors import Problems
from trainfare.sources.bills.checks import BillCheck
from trainfare.sources.bills.native import Field, Holds, NativeBill, Part
from trainfare.sources.head import Head
from trainfare.sources.raw import RawTable
from trainfare.sources.rows import header_names, simplified

COST, TYPE = "line_item_unblended_cost", "line_item_line_item_type"
COVERED, NEGATION = "SavingsPlanCoveredUsage", "SavingsPlanNegation"
PLAN_FEE, PLAN_UPFRONT = "SavingsPlanRecurringFee", "SavingsPlanUpfrontFee"
DISCOUNTED, RESERVATION_FEE, FEE = "DiscountedUsage", "RIFee", "Fee"
DISCOUNTS = ("EdpDiscount", "PrivateRateDiscount", "BundledDiscount", "Discount", "RiVolumeDiscount")
OTHER_TYPES = ("Usage", "Credit", "Refund", "Tax", "FlatRateSubscription")
KNOWN_TYPES = (*OTHER_TYPES, COVERED, NEGATION, PLAN_FEE, PLAN_UPFRONT, DISCOUNTED, RESERVATION_FEE, FEE, *DISCOUNTS)
SPLIT_OPERATIONS = ("EKSPod-EC2", "ECSTask-EC2")
SERVICE_CATEGORIES = {
    "Compute": (
        "AmazonEC2",
        "AmazonEKS",
        "AmazonECS",
        "AWSLambda",
        "AWSBatch",
        "ComputeSavingsPlans",
        "AmazonLightsail",
    ),
    "Storage": ("AmazonS3", "AmazonEFS", "AmazonFSx", "AmazonS3GlacierDeepArchive", "AWSBackup", "AmazonECR"),
    "Networking": ("AWSDataTransfer", "AmazonVPC", "AWSELB", "AmazonCloudFront", "AmazonRoute53", "AWSDirectConnect"),
    "AI and Machine Learning": (
        "AmazonSageMaker",
        "AmazonBedrock",
        "AmazonBedrockService",
        "MachineLearningSavingsPlans",
    ),
    "Databases": ("AmazonRDS", "AmazonDynamoDB", "AmazonElastiCache", "AmazonRedshift", "AmazonDocDB"),
    "Analytics": ("AmazonAthena", "AWSGlue", "ElasticMapReduce", "AmazonKinesis", "AmazonES", "AmazonQuickSight"),
    "Management and Governance": ("AmazonCloudWatch", "AWSCloudTrail", "AWSConfig", "AWSSystemsManager"),
    "Security": ("AmazonGuardDuty", "awskms", "AWSSecretsManager", "awswaf", "AmazonInspector", "AWSSecurityHub"),
    "Integration": ("AWSQueueService", "AmazonSNS", "AWSEvents", "AmazonStates", "AmazonMQ"),
}
"""Product codes by the ServiceCategory that FOCUS gives them. All others are Other."""


def _listed(words: tuple[str, ...]) -> str:
    return ", ".join(quoted(word) for word in words)


def _map_value(raw: RawTable, column: str, key: str) -> str | None:
    """Return SQL for a value of a column that is a map, or JSON text of one."""
    if not raw.has(column):
        return None
    name, type_ = raw.column(column)
    if type_.startswith("MAP"):
        return f"{name}[{quoted(key)}]"
    return f"json_value({name}, {quoted(key)})" if type_ in ("VARCHAR", "JSON") else None


def _of_product(field: str, key: str) -> Field:
    """Return a field that is a column of its own, or a value of the map `product`."""

    def derive(raw: RawTable) -> str | None:
        own = Field(field).column_of(raw)
        found = [sql for sql in (raw.text(own) if own else None, _map_value(raw, "product", key)) if sql]
        return f"coalesce({', '.join(found)})" if found else None

    return Field(field, derive=derive)


def _without_prefix(tags: str) -> str:
    """Return SQL for a map of tags as JSON, whose keys do not say that users chose them; AWS writes `_` for `:`."""
    for before in ('{"', ',"'):  # a key follows these, and nothing else does: quotes in values are escaped
        tags = f"replace({tags}, {quoted(before + 'user_')}, {quoted(before)})"
    return tags


def _made_json(raw: RawTable) -> frozenset[str]:
    """Tags are made of a map, or of columns of their own; as text they may be anything."""
    has_text = any(raw.is_text(column) for column in ("resource_tags", "tags"))
    return frozenset({"SkuPriceDetails"} if has_text else {"SkuPriceDetails", "Tags"})


def _tags(raw: RawTable) -> str | None:
    """Return SQL for the resource tags as JSON."""
    for column in ("resource_tags", "tags"):
        if raw.has(column):
            name, type_ = raw.column(column)
            if type_ == "VARCHAR":
                return f"nullif(regexp_replace({name}, '([{{,][ ]*)\"user[:_]', '\\1\"', 'g'), '{{}}')"
            return f"nullif({_without_prefix(f'CAST(to_json({name}) AS VARCHAR)')}, '{{}}')"
    pairs = []
    for low, (written, _) in raw.columns.items():
        for prefix in ("resourcetags/", "resource_tags_"):
            if low.startswith(prefix):
                key = written[len(prefix) :]
                key = key[5:] if key.lower().startswith(("user:", "user_")) else key
                pairs.append(f"struct_pack(k := {quoted(key)}, v := nullif({raw.text(low)}, ''))")
    if not pairs:
        return None
    entries = f"list_filter([{', '.join(pairs)}], lambda tag: tag.v IS NOT NULL)"
    return f"nullif(CAST(to_json(map_from_entries({entries})) AS VARCHAR), '{{}}')"


def _instance_type(raw: RawTable) -> str | None:
    """Return SQL for the instance type: a column of its own, a value of `product`, or a part of another text.

    Spot usage has it in the usage type or, where that names none, as the first word of the description.
    """
    own, usage, text = (
        Field(name).column_of(raw)
        for name in ("product_instance_type", "line_item_usage_type", "line_item_line_item_description")
    )
    named = "[a-z][a-z0-9-]*[.][a-z0-9-]+"
    found = [raw.text(own)] if own else []
    found += [sql] if (sql := _map_value(raw, "product", "instance_type")) else []
    if usage:
        found.append(f"nullif(regexp_extract({raw.text(usage)}, ':((?:ml[.])?{named})$', 1), '')")
        if text:
            first = f"nullif(regexp_extract({raw.text(text)}, '^({named}) ', 1), '')"
            found.append(f"CASE WHEN contains({raw.text(usage)}, 'SpotUsage') THEN {first} END")
    return f"coalesce({', '.join(found)})" if found else None


def _has_net(raw: RawTable) -> str:
    """Return SQL for whether the report has net costs, which it does only with private discounts."""
    return "true" if Field("line_item_net_unblended_cost").column_of(raw) else "false"


def _amounts(*names: str) -> tuple[Field, ...]:
    return tuple(Field(name, Holds.AMOUNT) for name in names)


FIELDS = (
    Field(COST, Holds.AMOUNT, is_required=True),
    Field(TYPE, is_required=True),
    Field("line_item_usage_start_date", Holds.TIME, is_required=True),
    Field("line_item_usage_end_date", Holds.TIME, is_required=True),
    Field("bill_billing_period_start_date", Holds.TIME),
    Field("bill_billing_period_end_date", Holds.TIME),
    *(Field(f"bill_{name}") for name in ("invoice_id", "payer_account_id", "billing_entity", "bill_type")),
    *(Field(f"line_item_{name}") for name in ("usage_account_id", "product_code", "usage_type", "operation")),
    *(Field(f"line_item_{name}") for name in ("availability_zone", "resource_id", "currency_code")),
    Field("line_item_line_item_description"),
    Field("savings_plan_savings_plan_a_r_n"),
    Field("reservation_reservation_a_r_n"),
    Field("split_line_item_parent_resource_id"),
    _of_product("product_product_name", "product_name"),
    _of_product("product_servicecode", "servicecode"),
    _of_product("product_region_code", "region"),
    Field("instance_type", derive=_instance_type),
    Field("product_sku"),
    *_amounts("line_item_net_unblended_cost", "pricing_public_on_demand_cost"),
    *_amounts("savings_plan_savings_plan_effective_cost", "savings_plan_net_savings_plan_effective_cost"),
    *_amounts("savings_plan_total_commitment_to_date", "savings_plan_used_commitment"),
    *_amounts("savings_plan_amortized_upfront_commitment_for_billing_period"),
    *_amounts("reservation_effective_cost", "reservation_net_effective_cost", "reservation_unused_recurring_fee"),
    *_amounts("reservation_unused_amortized_upfront_fee_for_billing_period", "reservation_net_unused_recurring_fee"),
    *_amounts("reservation_net_unused_amortized_upfront_fee_for_billing_period"),
    *_amounts("reservation_amortized_upfront_fee_for_billing_period"),
    Field("resource_tags", derive=_tags),
    Field("has_net_costs", derive=_has_net),
    Field("has_invoice_ids", derive=lambda raw: "true" if Field("bill_invoice_id").column_of(raw) else "false"),
)
_NET = "coalesce(line_item_net_unblended_cost, line_item_unblended_cost)"
IS_SPLIT = (
    f"(coalesce(line_item_operation IN ({_listed(SPLIT_OPERATIONS)}), false) "
    "OR split_line_item_parent_resource_id IS NOT NULL)"
)
_IS_PLAN_REFUND = (
    f"{TYPE} = 'Refund' AND line_item_product_code = 'ComputeSavingsPlans' "
    "AND line_item_line_item_description LIKE 'Refund for one-time fee%'"
)
_IS_COVERED = f"{TYPE} IN ('{COVERED}', '{DISCOUNTED}')"
_IS_PURCHASE = (
    f"{TYPE} IN ('{PLAN_FEE}', '{PLAN_UPFRONT}', '{RESERVATION_FEE}', '{FEE}', 'FlatRateSubscription') "
    f"OR ({_IS_PLAN_REFUND})"
)
_COMMITMENT = "coalesce(savings_plan_savings_plan_a_r_n, reservation_reservation_a_r_n)"
_PLAN_COST = "coalesce(savings_plan_net_savings_plan_effective_cost, savings_plan_savings_plan_effective_cost)"
_RESERVED_COST = "coalesce(reservation_net_effective_cost, reservation_effective_cost)"
_UNUSED_UPFRONT = (
    "coalesce(reservation_net_unused_amortized_upfront_fee_for_billing_period, "
    "reservation_unused_amortized_upfront_fee_for_billing_period, 0)"
)
_UNUSED_RECURRING = "coalesce(reservation_net_unused_recurring_fee, reservation_unused_recurring_fee, 0)"
_UNUSED = (
    f"CASE {TYPE} WHEN '{PLAN_FEE}' THEN savings_plan_total_commitment_to_date - savings_plan_used_commitment "
    f"WHEN '{RESERVATION_FEE}' THEN {_UNUSED_UPFRONT} + {_UNUSED_RECURRING} END"
)
_EFFECTIVE = (
    f"CASE WHEN {TYPE} = '{COVERED}' THEN {_PLAN_COST} WHEN {TYPE} = '{DISCOUNTED}' THEN {_RESERVED_COST} "
    f"WHEN {TYPE} IN ('{PLAN_FEE}', '{PLAN_UPFRONT}', '{RESERVATION_FEE}') THEN 0 "
    f"WHEN {TYPE} = '{FEE}' AND reservation_reservation_a_r_n IS NOT NULL THEN 0 WHEN {_IS_PLAN_REFUND} THEN 0 "
    f"WHEN has_net_costs AND {TYPE} IN ({_listed(DISCOUNTS)}) THEN 0 ELSE {_NET} END"
)
_SERVICE = "coalesce(product_servicecode, line_item_product_code)"
_STORAGE_USAGE = ("EBS:Volume", "EBS:Snapshot", "EBS:direct", "TimedStorage")
_NETWORK_USAGE = ("DataTransfer", "-Out-Bytes", "-In-Bytes", "NatGateway", "LoadBalancer", "LCUUsage")


def _has_usage(parts: tuple[str, ...]) -> str:
    return " OR ".join(f"contains(line_item_usage_type, {quoted(part)})" for part in parts)


_SERVICE_CATEGORY = (
    f"CASE WHEN {_has_usage(_STORAGE_USAGE)} THEN 'Storage' WHEN {_has_usage(_NETWORK_USAGE)} THEN 'Networking' "
    + " ".join(f"WHEN {_SERVICE} IN ({_listed(codes)}) THEN '{name}'" for name, codes in SERVICE_CATEGORIES.items())
    + " ELSE 'Other' END"
)
COMMON = {
    "BillingPeriodStart": "bill_billing_period_start_date",
    "BillingPeriodEnd": "bill_billing_period_end_date",
    "ChargePeriodStart": "line_item_usage_start_date",
    "ChargePeriodEnd": "line_item_usage_end_date",
    "BillingCurrency": "line_item_currency_code",
    "BillingAccountId": "bill_payer_account_id",
    "SubAccountId": "line_item_usage_account_id",
    "ServiceProviderName": "'AWS'",
    "ServiceName": (
        f"CASE WHEN bill_billing_entity = 'AWS Marketplace' THEN coalesce(product_product_name, {_SERVICE}) "
        f"ELSE {_SERVICE} END"
    ),
    "RegionId": "coalesce(product_region_code, nullif(regexp_extract(line_item_availability_zone, '^(.*[0-9])[a-z]$', 1), ''))",
    "SkuId": "product_sku",
    "CommitmentDiscountId": _COMMITMENT,
    "ChargeDescription": "line_item_line_item_description",
    "Tags": "resource_tags",
}
CHARGE = COMMON | {
    "BilledCost": f"CASE WHEN {_IS_COVERED} THEN 0 ELSE {COST} END",
    "EffectiveCost": _EFFECTIVE,
    "ListCost": (f"CASE WHEN {TYPE} = 'Usage' OR {_IS_COVERED} THEN pricing_public_on_demand_cost ELSE {COST} END"),
    "ContractedCost": f"CASE WHEN {TYPE} = '{DISCOUNTED}' THEN NULL ELSE {_NET} END",
    "ChargeCategory": (
        f"CASE WHEN {TYPE} IN ('Usage', '{COVERED}', '{DISCOUNTED}') THEN 'Usage' WHEN {_IS_PURCHASE} THEN 'Purchase' "
        f"WHEN {TYPE} = 'Refund' THEN 'Usage' WHEN {TYPE} IN ('Tax', 'Credit') THEN {TYPE} ELSE 'Adjustment' END"
    ),
    "ChargeClass": f"CASE WHEN {TYPE} = 'Refund' THEN 'Correction' END",
    "ServiceCategory": _SERVICE_CATEGORY,
    "ResourceId": f"CASE WHEN {_IS_PURCHASE} THEN coalesce({_COMMITMENT}, line_item_resource_id) ELSE line_item_resource_id END",
    "PricingCategory": (
        f"CASE WHEN {TYPE} = 'Tax' THEN NULL WHEN {_IS_COVERED} THEN 'Committed' "
        "WHEN line_item_usage_type LIKE '%SpotUsage%' THEN 'Dynamic' ELSE 'Standard' END"
    ),
    "CommitmentDiscountStatus": f"CASE WHEN {_IS_COVERED} THEN 'Used' END",
    "CapacityReservationStatus": (
        f"CASE WHEN {_has_usage(('UnusedBox', 'UnusedDed'))} THEN 'Unused' "
        "WHEN line_item_usage_type LIKE 'Reservation:%' OR contains(line_item_usage_type, '-Reservation:') THEN 'Used' END"
    ),
    "SkuPriceDetails": "'{\"InstanceType\":\"' || instance_type || '\"}'",
}
UNUSED = COMMON | {
    "BilledCost": "0",
    "EffectiveCost": _UNUSED,
    "ListCost": "0",
    "ContractedCost": "0",
    "ChargeCategory": "'Usage'",
    "ServiceCategory": _SERVICE_CATEGORY,
    "ResourceId": _COMMITMENT,
    "PricingCategory": "'Committed'",
    "CommitmentDiscountStatus": "'Unused'",
}
PARTS = (
    Part(CHARGE, f"{TYPE} <> '{NEGATION}' AND NOT {IS_SPLIT}"),
    Part(UNUSED, f"{TYPE} IN ('{PLAN_FEE}', '{RESERVATION_FEE}') AND ({_UNUSED}) <> 0", number=1),
)
_UPFRONT = (
    "coalesce(savings_plan_amortized_upfront_commitment_for_billing_period, 0) "
    "+ coalesce(reservation_amortized_upfront_fee_for_billing_period, 0)"
)
_IS_UPFRONT_FEE = f"{TYPE} = '{PLAN_UPFRONT}' OR ({TYPE} = '{FEE}' AND reservation_reservation_a_r_n IS NOT NULL) OR ({_IS_PLAN_REFUND})"
_DOES_NOT_ADD_UP = "bill_does_not_add_up"
CHECKS = (
    BillCheck("bill_not_final", "'rows without an invoice'", COST, where="has_invoice_ids AND bill_invoice_id IS NULL"),
    BillCheck("line_type_unknown", TYPE, COST, where=f"{TYPE} NOT IN ({_listed(KNOWN_TYPES)}) AND NOT {IS_SPLIT}"),
    BillCheck(
        _DOES_NOT_ADD_UP,
        "'negations of ' || coalesce(savings_plan_savings_plan_a_r_n, 'savings plans') || ' net the usage they cover'",
        COST,
        "0",
        f"{TYPE} IN ('{COVERED}', '{NEGATION}')",
    ),
    BillCheck(
        _DOES_NOT_ADD_UP,
        "'usage that reservations cover is billed in their fees only'",
        COST,
        "0",
        f"{TYPE} = '{DISCOUNTED}'",
    ),
    BillCheck(_DOES_NOT_ADD_UP, "'split cost rows are billed with their machine only'", COST, "0", IS_SPLIT),
    BillCheck(
        _DOES_NOT_ADD_UP,
        "'effective cost of the usage that ' || savings_plan_savings_plan_a_r_n || ' covers is its used commitment'",
        f"CASE WHEN {TYPE} = '{COVERED}' THEN savings_plan_savings_plan_effective_cost ELSE 0 END",
        f"CASE WHEN {TYPE} = '{PLAN_FEE}' THEN savings_plan_used_commitment ELSE 0 END",
        f"savings_plan_savings_plan_a_r_n IS NOT NULL AND {TYPE} IN ('{COVERED}', '{PLAN_FEE}')",
    ),
    BillCheck(
        _DOES_NOT_ADD_UP,
        "'unblended cost is amortized cost less amortized upfront fees plus upfront fees'",
        f"CASE WHEN {TYPE} = '{NEGATION}' THEN 0 ELSE {_EFFECTIVE} END + coalesce({_UNUSED}, 0) "
        f"- CASE WHEN {TYPE} IN ('{PLAN_FEE}', '{RESERVATION_FEE}') THEN {_UPFRONT} ELSE 0 END "
        f"+ CASE WHEN {_IS_UPFRONT_FEE} THEN {COST} ELSE 0 END",
        COST,
        f"NOT has_net_costs AND NOT {IS_SPLIT}",
    ),
)
NEEDED = {
    "savings_plan_savings_plan_effective_cost": (COVERED, "a row that a savings plan covers"),
    "savings_plan_total_commitment_to_date": (PLAN_FEE, "the fee of a savings plan"),
    "savings_plan_used_commitment": (PLAN_FEE, "the fee of a savings plan"),
    "reservation_effective_cost": (DISCOUNTED, "a row that a reservation covers"),
    "reservation_unused_recurring_fee": (RESERVATION_FEE, "the fee of a reservation"),
}
"""Columns that rows of a type must have, because what they really cost is nowhere else."""


def _check(raw: RawTable, problems: Problems) -> None:
    """Report rows of commitments whose cost is not in the report, and rows without a type."""
    type_ = Field(TYPE).column_of(raw)
    if type_ is None:
        return
    raw.check_present(problems, type_, "Export the report again.")
    for name, (of_type, noun) in NEEDED.items():
        column = Field(name).column_of(raw)
        empty = f"{raw.column(column)[0]} IS NULL" if column else "true"
        do = f"Export the report with the column {name}."
        message = quoted(f"{name} is empty on {noun}")
        raw.check(problems, f"{raw.text(type_)} = '{of_type}' AND {empty}", message, do)


def _names(head: Head) -> set[str]:
    names = head.parquet_columns if head.is_parquet else [] if head.is_json else header_names(head)
    return {simplified(name) for name in names}


def _is_report(head: Head) -> bool:
    return simplified(COST) in _names(head)


def _is_version_2(head: Head) -> bool:
    """Return whether a report has columns that only CUR 2.0 has: maps, and the names of accounts."""
    return bool(_names(head) & {"product", "resourcetags", "costcategory", "discount", "billpayeraccountname", "tags"})


_ADVICE = "Export the report with all of its columns: docs/howto/aws.md."
LEGACY = NativeBill(
    "aws-cur",
    "AWS Cost and Usage Report, legacy: CSV (also .gz, .zip) or Parquet",
    "1",
    FIELDS,
    PARTS,
    _ADVICE,
    recognizes=lambda head: _is_report(head) and not _is_version_2(head),
    check=_check,
    checks=CHECKS,
    made_json=_made_json,
)
VERSION_2 = NativeBill(
    "aws-cur-2",
    "AWS Cost and Usage Report 2.0 (Data Exports): CSV (also .gz, .zip) or Parquet",
    "1",
    FIELDS,
    PARTS,
    _ADVICE,
    recognizes=lambda head: _is_report(head) and _is_version_2(head),
    check=_check,
    checks=CHECKS,
    made_json=_made_json,
)
