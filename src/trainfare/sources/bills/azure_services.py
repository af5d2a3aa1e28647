"""Azure's terms in those of FOCUS: meter categories as service categories, and units of measure as block sizes."""

from trainfare.engine.sql import quoted

CATEGORIES = {
    "Compute": "virtual machines.*|azure kubernetes service|container (instances|registry)|cloud services|functions|"
    "azure app service|azure container apps|azure batch|dedicated host|azure spring apps|azure arc.*",
    "AI and Machine Learning": "azure machine learning.*|machine learning.*|cognitive services|azure openai.*|azure ai.*|"
    "ai services|foundry.*|azure cognitive search|azure bot service|intelligent recommendations",
    "Storage": "storage|azure netapp files|backup|azure site recovery|azure hpc cache|azure managed lustre|"
    "azure data lake storage.*|azure elastic san",
    "Networking": "virtual network|bandwidth|load balancer|vpn gateway|nat gateway|expressroute|azure dns|"
    "content delivery network|application gateway|azure firewall|azure firewall manager|network watcher|"
    "azure front door.*|traffic manager|virtual wan|azure ddos protection|azure bastion|private link",
    "Databases": "sql (database|managed instance).*|azure database for.*|azure cosmos db|redis cache|azure cache.*",
    "Analytics": "azure (databricks|synapse analytics|data factory.*|data explorer|stream analytics)|event hubs|"
    "hdinsight|microsoft fabric|power bi.*",
    "Security": "microsoft defender.*|security center|advanced threat protection|key vault|sentinel|"
    "azure dedicated hsm|azure information protection",
    "Management and Governance": "azure monitor|log analytics|application insights|insight and analytics|automation|"
    "azure policy|azure grafana service|scheduler",
}
"""Service categories of FOCUS, by pattern of the meter category in lower case."""
BLOCK = r"^\s*([0-9]+(?:\.[0-9]+)?)\s*([KMB])?(?:[^A-Za-z]|$)"
SIZES = {"K": 1_000, "M": 1_000_000, "B": 1_000_000_000}
ODD_UNITS = {"10000s": 1}
"""Units of measure whose number is not the size of their block."""


def service_category(meter_category: str) -> str:
    """Return SQL for the ServiceCategory, given SQL for the meter category."""
    cases = " ".join(
        f"WHEN regexp_full_match(lower({meter_category}), {quoted(pattern)}) THEN {quoted(category)}"
        for category, pattern in CATEGORIES.items()
    )
    return f"CASE WHEN {meter_category} IS NULL THEN NULL {cases} ELSE 'Other' END"


def block_size(unit: str) -> str:
    """Return SQL for how many units a price is for, given SQL for its unit: 10 for `10 Hours`, 1 for none."""
    odd = " ".join(f"WHEN {quoted(name)} THEN {size}" for name, size in ODD_UNITS.items())
    factors = " ".join(f"WHEN {quoted(letter)} THEN {size}" for letter, size in SIZES.items())
    number = f"coalesce(TRY_CAST(regexp_extract({unit}, {quoted(BLOCK)}, 1) AS DECIMAL(18,4)), 1)"
    factor = f"CASE regexp_extract({unit}, {quoted(BLOCK)}, 2) {factors} ELSE 1 END"
    return f"CASE {unit} {odd} ELSE nullif({number}, 0) * {factor} END"
