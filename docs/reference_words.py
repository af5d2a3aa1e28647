"""The words of the reference for what has none in the code: settings, rules, variables and exit codes.

Each name must exist in the code, and none may be missing: the printing stops else.
"""

SETTINGS = {
    "currency": (
        "The currency of bills that have no BillingCurrency; a bill's own counts first. Also the one that "
        "reports are in "
        "where a bill has several and `--currency` is not given."
    ),
    "catalog": (
        "Where the catalog is: a file, or a URL such as `postgresql://user@host/database`. "
        "Without it: `catalog.sqlite` in the workspace."
    ),
    "lake": (
        "Where the lake is, the Parquet files of books and deliveries: a folder, or an address such as `s3://bucket/folder`. "
        "Without it: `lake` in the workspace."
    ),
    "s3_endpoint": (
        "Where the object store answers, if it is not AWS: `https://s3.example.com:9000`. `AWS_ENDPOINT_URL` counts first."
    ),
    "serve": "Who is let in by `trainfare serve`, below `[serve]`. See below.",
    "source": "What to read, one `[[source]]` for each. See below.",
    "labels": (
        'Which tags on the bill mean which label of a job, most wanted first, as in `team = ["team", "squad"]`. '
        "Known labels: {labels}, and `job`. A label that is not named here is the tag of the same name; "
        "`job` is `job_id` or `trainfare_job`."
    ),
    "rule": "Who pays for what, one `[[rule]]` for each, in order. See below.",
    "default_rules": (
        "Whether the built-in rules come after yours. With `false`, what none of yours matches is unallocated."
    ),
    "estimate": (
        "Whether hours that no bill speaks of yet are estimated, from the last known rate, the contract or a price list. "
        "What is estimated is marked, and goes when the bill comes."
    ),
    "oidc": "The identity provider that people sign in with, below `[oidc]`. See below.",
    "convert": "Into which currency charges of other currencies are converted, below `[convert]`. See below.",
    "budget": "How much may be spent in a month, below `[budget]`. See below.",
    "check": "How much is too much for `trainfare check`. See below.",
    "engine": "What runs the account. See below.",
}
ENGINE_SETTINGS = {
    "name": "`duckdb`, embedded, or `spark`. `--engine` overrules it. The digits are the same.",
    "master": (
        "Where Spark is: `spark://host:7077`, `sc://host`, `local[*]`, `yarn`. Without it: what spark-submit gives. "
        "`--spark-master` overrules it."
    ),
    "settings": 'Settings for Spark, passed through, as in `{ "spark.executor.memory" = "4g" }`.',
    "s3_scheme": "How addresses of a lake at `s3://` begin for Spark's workers: `s3a` for Hadoop's connector, `s3` on some clouds.",
}
BUDGET_SETTINGS = {
    "currency": "The currency of the amounts. Without it: that of `[convert]`, or the usual one.",
    "total": "What everything together may cost in a month, with idle, unallocated and outside.",
    "team": "What each team may cost in a month, as in `{ nlp = 200000 }`.",
    "cost_center": 'What each cost centre may cost in a month, as in `{ "4711" = 200000 }`.',
}
CONVERT_SETTINGS = {
    "to": (
        "The currency everything is converted to, by the rate tables among the sources. Without it nothing is converted, and "
        "currencies stay apart."
    ),
    "days": "How many days a rate counts for where later days have none, such as weekends. Monthly tables need `31`. Without it: 7.",
}
SERVE_SETTINGS = {
    "sign_in": (
        "`none`: whoever reaches the service, which then listens on loopback only; `local`: people with a password, "
        "added with `trainfare user add`; `proxy`: whom a proxy names; `oidc`: whom an identity provider lets in, see `[oidc]`. "
        "Tokens count with each of them."
    ),
    "proxies": "Addresses from which the proxy's header is believed.",
    "proxy_header": "The header in which the proxy names the person, who must be a user here.",
    "session_hours": "How long somebody stays signed in.",
    "requests_per_minute": "The most that one address may ask for in a minute, where people sign in.",
}
OIDC_SETTINGS = {
    "issuer": "The provider, as it calls itself: the `issuer` of its `/.well-known/openid-configuration`.",
    "client_id": "The name that the provider knows this service by. Its secret, if it has one, is `TRAINFARE_OIDC_SECRET`.",
    "address": "The service, as browsers know it. The provider sends people back to `/sign-in/oidc/back` below it.",
    "scopes": 'What the provider is asked for. Without it: `["openid", "email", "profile"]`.',
    "name_claim": "The claim of the id token that names the person. Without it: `email`.",
    "role_claim": "The claim that has the person's groups: a text, or a list of them. Without it: `groups`.",
    "roles": (
        'Which group has which role, as in `{ "ml-finance" = "finance" }`; the first that fits counts, '
        'and `"*"` is anybody. Who has none is not let in.'
    ),
    "sees": 'For the role team: which claim has the values of which label, as in `{ cost_center = "cost_centers" }`.',
}
CHECK_SETTINGS = {
    "unallocated": "F1: cost of training without a payer.",
    "owner_coverage": "F1: at least so much of the cost of jobs is of jobs with an owner.",
    "retry": "F2: compute cost that was lost with spot machines, of what jobs cost in pools whose machines are taken away.",
    "egress": "F3: network cost of sending data to another region.",
    "unreported_io": "F4: cost of storage that the measured requests do not explain.",
    "counted_twice": "F5: cost of what is counted twice.",
    "commitment_step": "F6: by how much the cost of what commitments cover departs from its price.",
    "burst": "F7: idle cost of machines that came up in bursts.",
    "not_billed": "F8: estimated cost of the time that is not billed yet.",
    "labour": "F9: time entries that do not fit.",
    "new_licence": "F10: licences that cost nothing before.",
}
SOURCE_SETTINGS = {
    "path": "A file, or a pattern such as `bills/*.csv`, relative to the folder of the settings file.",
    "name": "Stands beside every share of this source. Without it: the file's name, or the folder's for a pattern.",
    "zone": "Time zone of times that name none, as in sacct output; those of bills are UTC. An IANA name such as `Europe/Berlin`.",
}
RULE_SETTINGS = {
    "name": "Stands beside every share the rule makes. Each rule has its own.",
    "match": "Which charges. All of its keys must hold; without any, every charge matches. See below.",
    "among": "Within what the charges are shared. Exactly one of `among`, `to` and `parts` is given.",
    "by": "What payers are weighed by. Without it: `gpu_seconds`. Only with `among`.",
    "idle": (
        "What becomes of time nobody held. Without it: `keep` among machine and cluster, `spread` among all others."
    ),
    "to": "The one payer that gets everything.",
    "parts": 'Payers with fixed parts, as in `{ "team:nlp" = 60, "team:vision" = 40 }`. Whole numbers, of any sum.',
    "reason": "Why, in a few words; shown beside money that goes to no job.",
}
MATCH = {
    "category": "what kind of cost: {categories}",
    "charge_category": "ChargeCategory: Usage, Purchase, Tax, Credit or Adjustment",
    "charge_class": "ChargeClass: Correction, or nothing",
    "service": "ServiceName",
    "service_category": "ServiceCategory",
    "provider": "ServiceProviderName or ProviderName",
    "account": "SubAccountId, or BillingAccountId where there is none",
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
    "source": "name of the source",
    "origin": "what the charge comes from: {origins}",
    "currency": "BillingCurrency",
    "machine": "`true`: the charge's resource is a machine; `false`: it is none",
    "tag": 'tags: `{ team = "nlp" }`, `{ team = true }` for any value, `{ team = false }` for none',
}
AMONG = {
    "machine": "the attempts that held the charged machine",
    "cluster": "the attempts on machines of the cluster: the machine's, or the one the charge's tag `cluster` names",
    "account": "the attempts on machines of the charge's account",
    "region": "the attempts on machines of the charge's region",
    "job": "the attempts of the job the charge's tag names",
    "all": "all attempts; by spend: all payers of the same billing account, or of all where the charge has none",
    "tag:KEY": "the attempts whose label KEY is the charge's tag KEY; if none ran then, the payer `KEY:VALUE` itself",
}
BY = {
    "gpu_seconds": "GPUs held times seconds. Without GPUs: CPUs; of which nothing is known either: time",
    "cpu_seconds": "CPUs held times seconds",
    "memory": "memory held times seconds",
    "dominant": "the largest of the parts of GPUs, CPUs and memory that were held, times seconds",
    "bytes_sent": (
        "bytes sent, as measured; those that stay within a region are left out. Where nothing was measured in the charge's "
        "time: as `gpu_seconds`, and a finding says so"
    ),
    "requests": "storage requests, as measured. Where nothing was measured in the charge's time: as `gpu_seconds`, and a finding says so",
    "wall_seconds": "time in which anything was held, each second once",
    "spend": "what each payer was given by all other rules in the month, in effective cost",
    "evenly": "one for each attempt that held anything in the charge's time",
}
IDLE = {
    "keep": "time nobody held is a payer of its own, `__idle__`",
    "spread": "only those who held something pay",
    "owner": "the team that the machine file names pays for the idle time of its machines, as `team:NAME`",
}
TO = {
    "__idle__": "paid for and not used",
    "__unallocated__": "nobody could be found who pays",
    "__outside__": "on the bill, but not training",
}
VARIABLES = {
    "TRAINFARE_LOG": "`json` or `text`: how `trainfare serve` logs; without it JSON lines where stderr is no terminal",
    "TRAINFARE_WORKSPACE": "set by `trainfare serve` for its processes: the workspace",
    "TRAINFARE_FORM_SECRET": "set by `trainfare serve` for its processes, anew at each start: signs its forms",
    "TRAINFARE_OIDC_SECRET": "what the identity provider knows `trainfare serve` by, if it asks for that",
    "TRAINFARE_CURRENCY": "counts before `currency` in the settings file",
    "TRAINFARE_CATALOG": "counts before `catalog` in the settings file",
    "TRAINFARE_LAKE": "counts before `lake` in the settings file",
    "TRAINFARE_MEMORY_LIMIT": "most memory a command takes before it goes on on disk, such as `4GB`",
}
EXIT_CODES = {
    0: "fine",
    1: "`reconcile` found a difference, `check` something beyond a limit, `audit verify` a changed log, `gameday` a missed goal",
    2: "wrong usage, settings or files; the message says where, what and what to do",
    3: "the data is not there yet, or another process was faster; the same command may work later",
    4: "the catalog's server or the object store cannot be reached, or does not let you in",
    130: "stopped with Ctrl-C",
}
WAYS_TO_SHARE = {
    "spend": "by what every payer already pays",
    "gpu_seconds": "by GPU seconds held",
    "cpu_seconds": "by CPU seconds held",
}
