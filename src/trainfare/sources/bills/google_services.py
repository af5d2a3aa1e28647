"""Google Cloud's services in terms of FOCUS: Google names a service and a SKU, and no category of either."""

from trainfare.engine.sql import quoted

COMPUTE_ENGINE = "compute engine"
"""The service that bills machines, and with them disks, addresses and traffic: only the SKU tells them apart."""
NETWORK_SKU = (
    "egress|ingress|network|data transfer|external ip|ip charge|static ip|load balanc|forwarding rule|nat gateway|"
    "vpn|interconnect|inter zone|peering|cloud armor"
)
STORAGE_SKU = "storage|snapshot|persistent disk|hyperdisk|machine image|\\bpd\\b"
CATEGORIES = {
    "Compute": "compute engine|kubernetes engine|cloud run( functions)?|cloud functions|app engine|vmware engine|"
    "bare metal solution|batch",
    "AI and Machine Learning": "vertex ai.*|cloud machine learning engine|ai platform|cloud tpu|gemini.*|"
    "cloud (natural language|vision|speech|translation|video intelligence).*|generative language api|notebooks",
    "Storage": "cloud storage( for firebase)?|(cloud )?filestore|backup for gke|backup and dr service|parallelstore|"
    "managed lustre|(google cloud )?netapp volumes|transfer service",
    "Networking": "networking|network (services|security|intelligence center)|cloud (dns|vpn|nat|cdn|interconnect|armor)|"
    "cloud load balancing|direct peering|media cdn",
    "Analytics": "bigquery.*|cloud (dataflow|dataproc|composer|data fusion|pub/sub)|dataproc|looker.*",
    "Databases": "cloud (sql|spanner|bigtable|memorystore.*|firestore|datastore)|alloydb.*|firestore|bigtable|"
    "memorystore.*|spanner",
    "Security": "security command center.*|cloud key management service.*|secret manager|certificate authority service|"
    "recaptcha.*|google security operations|chronicle.*",
    "Management and Governance": "cloud (logging|monitoring|trace)|stackdriver.*",
}
"""Service categories of FOCUS, by pattern of the service's name in lower case."""


def service_category(service: str, sku: str) -> str:
    """Return SQL for the ServiceCategory of a line, given SQL for the name of its service and of its SKU."""
    name, text = f"lower({service})", f"lower({sku})"
    own = f"{name} = {quoted(COMPUTE_ENGINE)} AND regexp_matches({text},"
    cases = f"WHEN {own} {quoted(NETWORK_SKU)}) THEN 'Networking' WHEN {own} {quoted(STORAGE_SKU)}) THEN 'Storage' "
    cases += " ".join(
        f"WHEN regexp_full_match({name}, {quoted(pattern)}) THEN {quoted(category)}"
        for category, pattern in CATEGORIES.items()
    )
    return f"CASE WHEN {service} IS NULL THEN NULL {cases} ELSE 'Other' END"
