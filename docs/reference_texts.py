"""Texts of the reference pages for names that have none in the code: settings, rules, variables and exit codes.

Each name must exist in the code, and none may be missing; otherwise no page is generated.
"""

SETTINGS = {
    "currency": (
        "The currency of bills without a BillingCurrency; a bill's own takes precedence. Also the currency of reports if "
        "a bill has several and `--currency` is not given."
    ),
    "catalog": (
        "The catalog: a file, or a URL such as `postgresql://user@host/database`. "
        "Default: `catalog.sqlite` in the workspace."
    ),
    "lake": (
        "The lake, with the Parquet files of books and deliveries: a folder, or an address such as `s3://bucket/folder`. "
        "Default: `lake` in the workspace."
    ),
    "s3_endpoint": (
        "The endpoint of the object store if it is not AWS: `https://s3.example.com:9000`. "
        "`AWS_ENDPOINT_URL` takes precedence."
    ),
    "serve": "Authentication of `trainfare serve`, in `[serve]`. See below.",
    "source": "The files to read, one `[[source]]` each. See below.",
    "collector": "The running systems to query, one `[[collector]]` each. See below.",
    "labels": (
        "The tags on the bill that map to a label of a job, in order of preference, as in "
        '`team = ["team", "squad"]`. Known labels: {labels}, and `job`. A label that is not listed here maps to the tag '
        "of the same name in any common spelling (`cost_center`, `cost-center`, `CostCenter`, `Cost Center` ...); `job` "
        "maps to `job_id` in these spellings, or `trainfare_job`."
    ),
    "rule": "The allocation rules, one `[[rule]]` each, in order. See below.",
    "default_rules": (
        "Whether the built-in rules follow yours. With `false`, charges that match none of yours are unallocated."
    ),
    "estimate": (
        "Whether hours that are not billed yet are estimated, from the last known rate, the contract or a price list. "
        "Estimates are marked, and replaced when the bill arrives."
    ),
    "oidc": "The identity provider that users sign in with, in `[oidc]`. See below.",
    "convert": "The currency that other currencies are converted to, in `[convert]`. See below.",
    "budget": "Monthly budgets, in `[budget]`. See below.",
    "check": "The thresholds of `trainfare check`. See below.",
    "engine": "The engine that runs builds. See below.",
}
ENGINE_SETTINGS = {
    "name": "`duckdb` (embedded) or `spark`. `--engine` overrides it. Both give the same digits.",
    "master": (
        "The Spark master: `spark://host:7077`, `sc://host`, `local[*]`, `yarn`. Default: that of spark-submit. "
        "`--spark-master` overrides it."
    ),
    "settings": 'Settings passed to Spark, as in `{ "spark.executor.memory" = "4g" }`.',
    "s3_scheme": (
        "The URL scheme that Spark's workers use for a lake at `s3://`: `s3a` for Hadoop's connector, `s3` on some clouds."
    ),
}
BUDGET_SETTINGS = {
    "currency": "The currency of the amounts. Default: that of `[convert]`, or the general `currency`.",
    "total": "The monthly budget of everything, including idle, unallocated and non-training cost.",
    "team": "The monthly budget of each team, as in `{ nlp = 200000 }`.",
    "cost_center": 'The monthly budget of each cost center, as in `{ "4711" = 200000 }`.',
}
CONVERT_SETTINGS = {
    "to": (
        "The currency that all charges are converted to, with the rate tables among the sources. Without it, nothing is "
        "converted and currencies are kept separate."
    ),
    "days": (
        "How many days a rate is valid if later days have none, such as weekends. Monthly tables need `31`. Default: 7."
    ),
}
SERVE_SETTINGS = {
    "sign_in": (
        "`none`: no authentication; the service then listens on loopback only. `local`: users with a password, added with "
        "`trainfare user add`. `proxy`: users named by a proxy. `oidc`: users of an identity provider, see `[oidc]`. "
        "Tokens are accepted with each of them."
    ),
    "proxies": (
        "The addresses or networks of your proxies. Only from these are `proxy_header` and `X-Forwarded-For` and "
        '`X-Forwarded-Proto` believed. Required with `sign_in = "proxy"`.'
    ),
    "proxy_header": "The header in which the proxy names the user, who must be a user here.",
    "session_hours": "How long a session lasts.",
    "requests_per_minute": (
        "The rate limit per user or token, and per address for requests without either, if authentication is on. It "
        "holds for all processes together."
    ),
    "query_seconds": "How long a query may take, and how long a request waits for a reader, before it is canceled.",
    "scrub_hours": "The hours within which the service reads every stored file and row again, to notice damage.",
}
OIDC_SETTINGS = {
    "issuer": "The provider: the `issuer` in its `/.well-known/openid-configuration`.",
    "client_id": "The client id of this service at the provider. Its secret, if any, is `TRAINFARE_OIDC_SECRET`.",
    "address": "The public address of the service. The provider redirects users to `/sign-in/oidc/back` below it.",
    "scopes": 'The scopes that are requested. Default: `["openid", "email", "profile"]`.',
    "name_claim": "The claim of the id token (or of UserInfo, where that leaves it out) that names the user. Default: `email`.",
    "role_claim": "The claim that contains the user's groups: a string, or a list of strings. Default: `groups`.",
    "roles": (
        'The role of each group, as in `{ "ml-finance" = "finance" }`; the first match counts, and `"*"` matches any '
        "user. A user without a role is rejected."
    ),
    "sees": 'For the role team: the claim with the values of a label, as in `{ cost_center = "cost_centers" }`.',
}
CHECK_SETTINGS = {
    "unallocated": "F1: training cost without a payer.",
    "owner_coverage": "F1: at least this part of the cost of jobs belongs to jobs with an owner.",
    "retry": "F2: compute cost lost to spot preemption, of the cost of jobs in pools with preempted machines.",
    "egress": "F3: network cost of traffic between regions.",
    "unreported_io": "F4: storage cost that the measured requests do not explain.",
    "counted_twice": "F5: cost that is counted twice.",
    "commitment_step": "F6: deviation of the amortized cost of commitments from their price.",
    "burst": "F7: idle cost of machines that started in bursts.",
    "not_billed": "F8: estimated cost of hours that are not billed yet.",
    "labor": "F9: implausible time entries.",
    "new_license": "F10: licenses that had no cost before.",
}
SOURCE_SETTINGS = {
    "path": "A file, or a pattern such as `bills/*.csv`, relative to the folder of the settings file.",
    "name": "The name of the source, stored with each of its shares. Default: the name of the file, or of a pattern's folder.",
    "zone": (
        "The time zone of times without an offset, such as in job logs; those of bills without a mapping are UTC. "
        "An IANA name such as `Europe/Berlin`."
    ),
    "mapping": (
        "How to read a bill that has no reader of its own: a TOML file with an expression per FOCUS column, relative to "
        "the folder of the settings file. See [mapping](../howto/mapping.md). Default: the format is recognized."
    ),
}
COLLECTOR_SETTINGS = {
    "name": "The name under which everything it collects is recorded. Keep it: another name starts a new recording.",
    "system": "The system that is queried: `kubernetes` or `slurm`.",
    "since": (
        "The first day to collect, such as `2026-10-01`. Default: 31 days before the first run. Kubernetes only knows "
        "what exists, so there it has no effect."
    ),
    "token": "Where the token is, if the system needs one: `env:NAME` or `file:PATH`, never the token itself.",
    "options": (
        "For `kubernetes`: `kubeconfig`, the path of a kubeconfig, by default the one that kubectl uses or the service "
        "account of the pod; `context`, one of its contexts; `cluster`, the name of the cluster in recordings. For "
        "`slurm`: `config`, the path of slurm.conf; `programs`, the folder of its commands; `cluster`, for `--clusters`."
    ),
}
RULE_SETTINGS = {
    "name": "The name of the rule, stored with each of its shares. It must be unique.",
    "match": "Which charges. All keys must match; without any, every charge matches. See below.",
    "among": "The scope within which charges are split. Exactly one of `among`, `to` and `parts` is required.",
    "by": "The allocation basis. Default: `gpu_seconds`. Only with `among`.",
    "idle": "What happens to idle time. Default: `keep` for machine and cluster, `spread` for all others.",
    "to": "The one payer that gets everything.",
    "parts": 'Payers with fixed parts, as in `{ "team:nlp" = 60, "team:vision" = 40 }`. Integers of any sum.',
    "weights": (
        "What one GPU, one CPU and one GB of memory count, as in `{ gpu = 9, cpu = 0.9, memory_gb = 0.1 }`. Only with "
        '`by = "weighted"`.'
    ),
    "reason": "Why, in a few words; shown with costs that are not allocated to a job.",
}
MATCH = {
    "category": "the kind of cost: {categories}",
    "charge_category": "ChargeCategory: Usage, Purchase, Tax, Credit or Adjustment",
    "charge_class": "ChargeClass: Correction, or nothing",
    "service": "ServiceName",
    "service_category": "ServiceCategory",
    "provider": "ServiceProviderName or ProviderName",
    "account": "SubAccountId, or BillingAccountId if there is none",
    "billing_account": "BillingAccountId",
    "region": "RegionId",
    "resource_id": "ResourceId",
    "resource_name": "ResourceName",
    "resource_type": "ResourceType",
    "sku": "SkuId",
    "pricing": "PricingCategory",
    "commitment_id": "CommitmentDiscountId",
    "commitment_status": "CommitmentDiscountStatus: Used or Unused",
    "reservation_status": "CapacityReservationStatus: Used or Unused",
    "instance_type": "InstanceType in SkuPriceDetails, or one found in ChargeDescription",
    "description": "ChargeDescription",
    "source": "the name of the source",
    "origin": "the origin of the charge: {origins}",
    "currency": "BillingCurrency",
    "machine": "`true`: the charge's resource is a machine; `false`: it is not",
    "tag": 'tags: `{ team = "nlp" }`, `{ team = true }` for any value, `{ team = false }` for none',
}
AMONG = {
    "machine": "the attempts that held the charged machine",
    "cluster": "the attempts on machines of the cluster: the machine's, or the one in the charge's tag `cluster`",
    "account": "the attempts on machines of the charge's account",
    "region": "the attempts on machines of the charge's region",
    "job": "the attempts of the job in the charge's tag",
    "all": "all attempts; by spend: all payers of the same billing account, or all payers if the charge has none",
    "tag:KEY": "the attempts whose label KEY equals the charge's tag KEY; if none ran then, the payer `KEY:VALUE` itself",
}
BY = {
    "gpu_seconds": "GPUs held times seconds; without GPUs, CPUs; if those are unknown, too, time",
    "cpu_seconds": "CPUs held times seconds",
    "memory": "memory held times seconds",
    "dominant": "the largest fraction of GPUs, CPUs and memory held, times seconds",
    "weighted": "GPUs, CPUs and memory held, each times its weight in `weights`, times seconds; only among `machine`",
    "bytes_sent": (
        "measured bytes sent, without traffic within a region. If nothing was measured in the charge's period: as "
        "`gpu_seconds`, with a finding"
    ),
    "requests": "measured storage requests. If nothing was measured in the charge's period: as `gpu_seconds`, with a finding",
    "wall_seconds": "time in which anything was held, each second once",
    "spend": "what each payer was allocated by all other rules in the month, in effective cost",
    "evenly": "one for each attempt that held anything in the charge's period",
}
IDLE = {
    "keep": "idle time is a payer of its own, `__idle__`",
    "spread": "only attempts that held something pay; by spend: idle cost takes no part",
    "owner": "the team of the machine, from the machine file, pays for its idle time, as `team:NAME`",
}
TO = {
    "__idle__": "paid for and not used",
    "__unallocated__": "no payer was found",
    "__outside__": "non-training: on the bill, but not for training",
}
VARIABLES = {
    "TRAINFARE_LOG": "`json` or `text`: the log format of `trainfare serve`; default: JSON lines unless stderr is a terminal",
    "TRAINFARE_WORKSPACE": "set by `trainfare serve` for its processes: the workspace",
    "TRAINFARE_FORM_SECRET": "set by `trainfare serve` for its processes at each start: signs its forms",
    "TRAINFARE_OIDC_SECRET": "the client secret of `trainfare serve` at the identity provider, if it requires one",
    "TRAINFARE_MODE": "`online`, `offline` (only the spool) or `disabled`: what the SDK does",
    "TRAINFARE_SPOOL": "the folder of event files of the SDK and `trainfare run`; default: `trainfare-events`",
    "TRAINFARE_SERVER": "the address to which the SDK sends events",
    "TRAINFARE_TOKEN": "the token that the SDK sends with events",
    "TRAINFARE_JOB": "the job's id for the SDK and `trainfare run`, which sets it for its program",
    "TRAINFARE_ATTEMPT": "the number of the attempt, likewise",
    "TRAINFARE_MACHINE": "the machine's name, likewise",
    "TRAINFARE_RUN": "what all processes of one attempt have in common, likewise",
    "TRAINFARE_CLUSTER": "the cluster that numbers these jobs, for the SDK and `trainfare run`",
    "TRAINFARE_CURRENCY": "overrides `currency` in the settings file",
    "TRAINFARE_CATALOG": "overrides `catalog` in the settings file",
    "TRAINFARE_LAKE": "overrides `lake` in the settings file",
    "TRAINFARE_MEMORY_LIMIT": "the memory limit of a command before it continues on disk, such as `4GB`",
}
EXIT_CODES = {
    0: "success",
    1: (
        "`reconcile` found a difference, `check` a finding beyond its threshold, `audit verify` a changed log, "
        "or `gameday` missed a goal"
    ),
    2: "invalid usage, settings or files; the message says where, what and what to do",
    3: "the data is incomplete, or another process was faster; the same command may succeed later",
    4: "the catalog's server or the object store cannot be reached, or denies access",
    130: "interrupted with Ctrl-C",
}
ALLOCATION_BASES = {
    "spend": "by what every payer was allocated so far",
    "gpu_seconds": "by GPU seconds held",
    "cpu_seconds": "by CPU seconds held",
}
