"""Oracle Cloud (OCI) cost reports -> charges.

Reports come every six hours as compressed CSV files, each with lines that no other report has. What they say:
- `cost/myCost` is what is paid; `cost/myCostOverage` is the part of it beyond the committed amount, and is not added;
- a correction is a line of its own that names another in `lineItem/backreferenceNo`, possibly of an earlier report.
  Lines are only ever appended, so it is added; as Oracle does not say so in the report, each is a finding. Ordinary
  lines have a back reference, too: only `lineItem/isCorrection` tells;
- there is no amortized cost: effective is as billed. `unitPrice` times quantity is the list cost where it is exact;
- times may have no seconds, amounts an exponent; each tag is a column, `tags/NAMESPACE.KEY`.
Verified: the sum of `cost/myCost` equals the account to the last digit, corrections included.
"""

from trainfare.errors import Problems
from trainfare.sources.bills.native import Field, Holds, NativeBill, Part
from trainfare.sources.head import Head
from trainfare.sources.raw import RawTable
from trainfare.sources.rows import header_names, identifier, simplified

TAG = "tags/"
FACTOR = "DECIMAL(19,10)"
CATEGORIES = {
    "Compute": "compute|container_engine.*|oke|functions|container_instances|bare_?metal.*",
    "AI and Machine Learning": "data_?science|generative_?ai.*|ai_.*|ocvs_ai.*",
    "Storage": "block_storage|object_?stor(e|age)|file_?storage.*|archive_storage|lustre.*",
    "Networking": "network|virtual_cloud_network|load_?balancer.*|fast_?connect|dns|network_firewall|nat_gateway",
    "Databases": "database.*|autonomous.*|mysql.*|nosql.*|postgresql.*|exadata.*",
    "Analytics": "data_flow|big_data.*|streaming|analytics.*|data_integration",
    "Security": "cloud_?guard|vault|key_management|waf|web_application_firewall|vulnerability_scanning",
    "Management and Governance": "logging.*|monitoring|telemetry|notifications|application_performance_monitoring",
}
"""Service categories of FOCUS, by pattern of the service's name in lower case."""
COST = '"cost/myCost"'
ADDED = "a correction, added to the line it names: compare the month with the invoice"
NAMELESS = "a correction that does not name the line it corrects: compare the month with the invoice"
LIST_COST = f"TRY_CAST(unit_price AS {FACTOR}) * TRY_CAST(quantity AS {FACTOR})"
IS_EXACT = f"TRY_CAST(unit_price AS {FACTOR}) = unit_price AND TRY_CAST(quantity AS {FACTOR}) = quantity"
CASES = " ".join(
    f"WHEN regexp_full_match(lower(service), '{pattern}') THEN '{category}'" for category, pattern in CATEGORIES.items()
)


def _tags(raw: RawTable) -> str:
    """Return SQL for a JSON object of all columns of tags that have a value."""
    names = {written[len(TAG) :]: written for written, _ in raw.columns.values() if written.lower().startswith(TAG)}
    if not names:
        return "CAST(NULL AS VARCHAR)"
    entries = ", ".join(
        f"struct_pack(key := '{key.replace(chr(39), chr(39) * 2)}', value := CAST({identifier(column)} AS VARCHAR))"
        for key, column in names.items()
    )
    filled = f"list_filter([{entries}], lambda tag: tag.value IS NOT NULL)"
    return f"CASE WHEN len({filled}) > 0 THEN CAST(to_json(map_from_entries({filled})) AS VARCHAR) END"


def recognize(head: Head) -> bool:
    names = head.parquet_columns if head.is_parquet else [] if head.is_json else header_names(head)
    return {"lineitemreferenceno", "lineitemtenantid"} <= {simplified(name) for name in names}


def check(raw: RawTable, problems: Problems) -> None:
    """Report values of isCorrection that are neither true nor false: they decide whether a line adds to another."""
    if raw.has(column := "lineItem/isCorrection"):
        bad = f"lower({raw.text(column)}) NOT IN ('true', 'false')"
        raw.check(problems, bad, f"{raw.described(column)} || ' is neither true nor false'", "Export the report again.")


IS_CORRECTION = "lower(is_correction) = 'true'"
READER = NativeBill(
    NAME="oracle",
    DESCRIPTION="Oracle Cloud (OCI) cost report: CSV (also .gz) or Parquet",
    VERSION="1",
    fields=(
        Field("lineItem/intervalUsageStart", Holds.TIME, is_required=True),
        Field("lineItem/intervalUsageEnd", Holds.TIME, is_required=True),
        Field("cost/myCost", Holds.AMOUNT, is_required=True),
        Field("currency", aliases=("cost/currencyCode",)),
        Field("unit_price", Holds.AMOUNT, ("cost/unitPrice",)),
        Field("quantity", Holds.AMOUNT, ("usage/billedQuantity",)),
        Field("is_correction", aliases=("lineItem/isCorrection",)),
        Field("corrected", aliases=("lineItem/backreferenceNo",)),
        Field("tenant", aliases=("lineItem/tenantId",)),
        Field("service", aliases=("product/service",)),
        Field("compartment", aliases=("product/compartmentId",)),
        Field("region", aliases=("product/region",)),
        Field("resource", aliases=("product/resourceId", "product/resource")),
        Field("sku", aliases=("cost/productSku",)),
        Field("description", aliases=("product/description", "cost/skuUnitDescription")),
        Field("tags", derive=_tags),
    ),
    parts=(
        Part(
            {
                "BilledCost": COST,
                "EffectiveCost": COST,
                "ListCost": f"CASE WHEN {IS_EXACT} THEN {LIST_COST} END",
                "ChargePeriodStart": '"lineItem/intervalUsageStart"',
                "ChargePeriodEnd": '"lineItem/intervalUsageEnd"',
                "BillingCurrency": "currency",
                "BillingAccountId": "tenant",
                "SubAccountId": "compartment",
                "ProviderName": "'Oracle'",
                "ServiceName": "service",
                "ServiceCategory": f"CASE WHEN service IS NOT NULL THEN CASE {CASES} ELSE 'Other' END END",
                "RegionId": "region",
                "ResourceId": "resource",
                "SkuId": "sku",
                "ChargeDescription": "description",
                "ChargeCategory": "'Usage'",
                "ChargeClass": f"CASE WHEN {IS_CORRECTION} THEN 'Correction' END",
                "Tags": "tags",
                "x_TrainfareNote": f"CASE WHEN {IS_CORRECTION} AND corrected IS NULL THEN '{NAMELESS}' "
                f"WHEN {IS_CORRECTION} THEN '{ADDED}' END",
            }
        ),
    ),
    recognizes=recognize,
    export_advice="Copy the cost report as Oracle wrote it; see docs/howto/oracle-cloud.md.",
    check=check,
    made_json=lambda raw: frozenset({"Tags", "SkuPriceDetails"}),
)
