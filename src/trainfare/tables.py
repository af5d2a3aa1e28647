"""The contract between the stages: every table and column, with unit and meaning.

The reference page is generated from here. Money is DECIMAL(38,12); time is UTC and half-open.
"""

from dataclasses import dataclass

MONEY = "DECIMAL(38,12)"
RATE = "DECIMAL(24,14)"
TEXT = "VARCHAR"
TIME = "TIMESTAMP"

BASES = ("effective", "billed", "list", "contracted")
CONVERTED = ("converted_from", "rate", "rate_day", "rate_source", *(f"original_{basis}" for basis in BASES))
"""The columns of a charge that describe its conversion from another currency."""
CATEGORIES = (
    *("compute", "storage", "network", "platform", "power", "facility"),
    *("license", "labor", "support", "tax", "credit", "other"),
)
NOT_INFRASTRUCTURE = ("license", "labor")
ORIGINS = ("bill", "hardware", "license", "labor", "invoice", "commitment", "estimate")
ESTIMATED = "estimated"
"""The source name of estimates."""
LABELS = ("owner", "team", "project", "experiment", "cost_center", "model_version", "priority")
CHARGE_CATEGORIES = ("Usage", "Purchase", "Tax", "Credit", "Adjustment")
"""Values of ChargeCategory in FOCUS."""
STATES = (
    *("completed", "failed", "preempted", "canceled", "timeout", "node_failed"),
    *("requeued", "resized", "suspended", "running", "unknown"),
)
ENDED = tuple(state for state in STATES if state not in ("resized", "suspended", "running", "unknown"))
"""States of an attempt that has ended."""
MEASURES = ("gpu_busy_seconds", "bytes_sent", "storage_requests", "storage_bytes", "checkpoint", "step")
BETTER = ("higher", "lower")
PHASES = {"unsaved": "lost", "restart": "lost", "start": "overhead", "checkpoint": "overhead"}
"""The phases of an attempt's time that were no kept work, numbered from 1, and which part each belongs to."""


@dataclass(frozen=True)
class Column:
    name: str
    type: str
    meaning: str


@dataclass(frozen=True)
class Table:
    name: str
    meaning: str
    columns: tuple[Column, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    def definition(self) -> str:
        """Return the columns as SQL, for `CREATE TABLE name (...)`."""
        return ", ".join(f'"{column.name}" {column.type}' for column in self.columns)

    def typed_select(self, origin: str) -> str:
        """Return a SELECT that casts `origin` to exactly these columns and types."""
        columns = ", ".join(f'CAST("{c.name}" AS {c.type}) AS "{c.name}"' for c in self.columns)
        return f"SELECT {columns} FROM {origin}"


CHARGES = Table(
    "charges",
    "One line of money on a bill or in a ledger, in FOCUS terms. Read from the archived delivery; never changed.",
    (
        Column("delivery", "INTEGER", "number of the delivered file the line came in"),
        Column("line", "BIGINT", "position in that file: 1 is the first line after the header"),
        Column("billing_start", TIME, "start of the billing period (BillingPeriodStart)"),
        Column("billing_end", TIME, "end of the billing period (BillingPeriodEnd); its middle names the book"),
        Column("period_start", TIME, "start of the time the charge is for (ChargePeriodStart)"),
        Column("period_end", TIME, "end of that time, exclusive (ChargePeriodEnd)"),
        Column("effective", MONEY, "amortized cost, with commitments spread over the usage they cover (EffectiveCost)"),
        Column("billed", MONEY, "cost on the invoice (BilledCost)"),
        Column("list", MONEY, "cost at public prices (ListCost); null where the bill has none"),
        Column("contracted", MONEY, "cost at negotiated prices (ContractedCost); null where the bill has none"),
        Column("source", TEXT, "name of the source of the file"),
        Column("currency", TEXT, "currency of the amounts (BillingCurrency), or the one they were converted to"),
        Column("origin", TEXT, "origin of the charge: " + ", ".join(ORIGINS)),
        Column("converted_from", TEXT, "the currency it was converted from; null: not converted"),
        Column("rate", RATE, "units of `currency` per unit of `converted_from`; null: not converted"),
        Column("rate_day", "DATE", "day of the rate: that of period_start, or the last one before it that has a rate"),
        Column("rate_source", TEXT, "where the rate was read, and how it was derived if the table does not list it"),
        *(Column(f"original_{basis}", MONEY, f"{basis} before the conversion; null: not converted") for basis in BASES),
        Column("charge_category", TEXT, "Usage, Purchase, Tax, Credit or Adjustment (ChargeCategory)"),
        Column("charge_class", TEXT, "Correction, or null (ChargeClass)"),
        Column("service_category", TEXT, "ServiceCategory"),
        Column("service_name", TEXT, "ServiceName"),
        Column("provider", TEXT, "ServiceProviderName, or ProviderName of older bills"),
        Column("billing_account", TEXT, "BillingAccountId"),
        Column("account", TEXT, "SubAccountId, or BillingAccountId where there is none"),
        Column("region", TEXT, "RegionId"),
        Column("resource_id", TEXT, "ResourceId"),
        Column("resource_name", TEXT, "ResourceName"),
        Column("resource_type", TEXT, "ResourceType"),
        Column("sku_id", TEXT, "SkuId"),
        Column("pricing_category", TEXT, "Standard, Dynamic (spot), Committed or Other (PricingCategory)"),
        Column("commitment_id", TEXT, "CommitmentDiscountId"),
        Column("commitment_status", TEXT, "Used, Unused or null (CommitmentDiscountStatus)"),
        Column("reservation_status", TEXT, "Used, Unused or null (CapacityReservationStatus)"),
        Column("price_details", TEXT, "SkuPriceDetails as JSON, or null"),
        Column("description", TEXT, "ChargeDescription"),
        Column("finer", "INTEGER", "number of the four amounts that were finer than 10^-12 and were rounded"),
        Column("tags", TEXT, "Tags as a flat JSON object, or null"),
        Column("note", TEXT, "what the reader had to assume or could not know about the line; null: nothing"),
    ),
)

MACHINES = Table(
    "machines",
    "Something that can be held, and the time it existed. One machine id may name several resources over time.",
    (
        Column("machine_id", TEXT, "the name in the job log"),
        Column("resource_id", TEXT, "the provider's resource id on the bill; the machine id if not given"),
        Column("gpus", "DECIMAL(18,6)", "number of GPUs; null if unknown"),
        Column("gpu_model", TEXT, "GPU model"),
        Column("cpus", "DECIMAL(18,3)", "number of CPUs; null if unknown"),
        Column("memory_gb", "DECIMAL(18,3)", "memory in GB; null if unknown"),
        Column("pool", TEXT, "the pool, partition or node group it belongs to"),
        Column("team", TEXT, 'the team that owns the pool, for `idle = "owner"`'),
        Column("cluster", TEXT, "the cluster it belongs to"),
        Column("region", TEXT, "the region it is in"),
        Column("account", TEXT, "the cloud account it is billed to"),
        Column("existed_from", TIME, "when it was created; null: unknown, it counts as always present"),
        Column("existed_to", TIME, "when it was removed, exclusive; null: it still exists"),
        Column("line", "BIGINT", "position in the file it came from"),
    ),
)

LOG_COLUMNS = ("log_cluster", "log_user", "log_run", "resized")
"""Columns of placements that identify jobs and attempts across logs."""
PLACEMENTS = Table(
    "placements",
    "One attempt of a job holding an amount of one machine for a time.",
    (
        Column("job_id", TEXT, "the job: what a person requested to train, as its log names it"),
        Column("attempt", "INTEGER", "which try of the job, from 1"),
        Column("machine_id", TEXT, "the machine that was held"),
        Column("started", TIME, "when holding began"),
        Column("ended", TIME, "when it ended, exclusive; null while running"),
        Column("gpus", "DECIMAL(18,6)", "GPUs held, may be a fraction; null: not stated, counts as the entire machine"),
        Column("cpus", "DECIMAL(18,3)", "CPUs held"),
        Column("memory_gb", "DECIMAL(18,3)", "memory held, in GB"),
        Column("state", TEXT, "how the attempt ended: " + ", ".join(STATES)),
        Column("owner", TEXT, "the person"),
        Column("team", TEXT, "the team"),
        Column("project", TEXT, "the project"),
        Column("experiment", TEXT, "the experiment or sweep"),
        Column("cost_center", TEXT, "the cost center"),
        Column("model_version", TEXT, "the trained model version"),
        Column("priority", TEXT, "the priority class"),
        Column("submitted", TIME, "when the attempt was submitted to the queue; null: not stated"),
        Column("log_cluster", TEXT, "the cluster that numbers these jobs; null: not stated"),
        Column("log_user", TEXT, "whose job it is, if the log may use a job id more than once; null: it does not"),
        Column("log_run", TIME, "when the attempt began, if the log does not number attempts; null: it does"),
        Column("resized", TIME, "when this placement ended as the attempt went on with another size; null: it did not"),
        Column("labels", TEXT, "every other label as a flat JSON object, or null"),
        Column("line", "BIGINT", "position in the file it came from"),
    ),
)

USAGE = Table(
    "usage",
    "Something measured about an attempt, as delivered.",
    (
        Column("job_id", TEXT, "the job that was measured"),
        Column("attempt", "INTEGER", "which try of the job, from 1"),
        Column("machine_id", TEXT, "the machine it was measured on; null: the entire attempt"),
        Column("started", TIME, "when the measured time span began"),
        Column("ended", TIME, "when it ended, exclusive; null: a moment"),
        Column("measure", TEXT, "what was measured: " + ", ".join(MEASURES)),
        Column(
            "value", "DECIMAL(26,6)", "the value: seconds, bytes, requests; the step number of a checkpoint or step"
        ),
        Column("from_region", TEXT, "where bytes_sent came from; null: the machine's region"),
        Column("to_region", TEXT, "where bytes_sent went to; null: unknown"),
        Column("line", "BIGINT", "position in the file it came from"),
    ),
)

QUALITY = Table(
    "quality",
    "The quality of a job's result.",
    (
        Column("job_id", TEXT, "the job"),
        Column("metric", TEXT, "the evaluated metric, such as accuracy or perplexity"),
        Column("value", MONEY, "the result"),
        Column("better", TEXT, "which values are better: " + " or ".join(BETTER)),
        Column("line", "BIGINT", "position in the file it came from"),
    ),
)

PRICES = Table(
    "prices",
    "The hourly price of a kind of machine, and when it is valid.",
    (
        Column("kind", TEXT, "instance type or GPU model"),
        Column("region", TEXT, "the region of the price; null: any region"),
        Column("term", TEXT, "pricing term: on_demand, spot, reserved ..."),
        Column("price", MONEY, "price of one hour of one machine"),
        Column("currency", TEXT, "currency of the price"),
        Column("valid_from", TIME, "when the price takes effect"),
        Column("valid_to", TIME, "when it ends, exclusive; null: no end"),
        Column("source", TEXT, "where the price was read"),
        Column("line", "BIGINT", "position in the file it came from"),
    ),
)

CONVERSIONS = Table(
    "conversions",
    "Amounts converted from another currency, per rate. Adds up to the converted shares exactly.",
    (
        Column("converted_from", TEXT, "the currency of the original amounts"),
        Column("currency", TEXT, "the currency they were converted to"),
        Column("day", "DATE", "the day of the charges; the first day of longer ones"),
        Column("rate", RATE, "units of `currency` per unit of `converted_from`"),
        Column("rate_day", "DATE", "day of the rate"),
        Column("rate_source", TEXT, "where the rate was read, and how it was derived"),
        Column("adjusts", TEXT, "the closed month that the charges adjust; null: not an adjustment"),
        Column("category", TEXT, "what kind of cost"),
        Column("lines", "BIGINT", "number of lines of bills and ledgers"),
        *(Column(f"original_{basis}", MONEY, f"{basis} cost before converting") for basis in BASES),
        *(Column(basis, MONEY, f"{basis} cost, each line converted and rounded to 10^-12") for basis in BASES),
    ),
)

SHARES = Table(
    "shares",
    "One payer's part of the pots of one rule, machine, day and category. Adds up to the charges exactly.",
    (
        Column("payer_kind", TEXT, "attempt, idle, unallocated, outside, or label for a payer such as team:nlp"),
        Column("payer", TEXT, "job_id#attempt, __idle__, __unallocated__, __outside__ or KEY:VALUE"),
        Column("job_id", TEXT, "the job, where the payer is an attempt"),
        Column("attempt", "INTEGER", "the attempt, where the payer is one"),
        Column("machine_id", TEXT, "the machine of the pot; null for pots of a wider scope"),
        Column("resource_id", TEXT, "that machine's provider resource id"),
        Column("day", "DATE", "the UTC day the money is for"),
        Column("category", TEXT, "cost category: " + ", ".join(CATEGORIES)),
        Column("rule", TEXT, "the rule that matched the charges"),
        Column("reason", TEXT, "why the money is idle, unallocated or non-training; null for attempts"),
        Column("source", TEXT, "the source of the bill"),
        Column("origin", TEXT, "origin of the charges: " + ", ".join(ORIGINS)),
        Column("estimated", "BOOLEAN", "whether this is an estimate of charges that are not billed yet"),
        Column("account", TEXT, "the account of the charges"),
        Column("currency", TEXT, "the currency of the amounts"),
        Column("converted_from", TEXT, "the currency they were converted from; null: not converted"),
        Column("effective", MONEY, "part of EffectiveCost"),
        Column("billed", MONEY, "part of BilledCost"),
        Column("list", MONEY, "part of ListCost"),
        Column("contracted", MONEY, "part of ContractedCost"),
    ),
)

WORK = Table(
    "work",
    "The lost and overhead parts of the shares of attempts, with the keys of the shares. The rest is kept work.",
    (
        *(column for column in SHARES.columns if column.name != "reason"),
        Column("part", TEXT, "lost or overhead"),
        Column("phase", TEXT, "unsaved or restart (lost), start or checkpoint (overhead); null in older books"),
        Column("how", TEXT, "measured, or at most: an interrupted attempt without known checkpoints is lost entirely"),
    ),
)

CHECKPOINTING = Table(
    "checkpointing",
    "How each job with checkpoints saves its work, and the checkpoint interval that would lose least.",
    (
        Column("job_id", TEXT, "the job"),
        Column("currency", TEXT, "the currency of the amounts"),
        Column("spent", MONEY, "effective cost of the job in the month"),
        Column("checkpoints", "BIGINT", "number of checkpoints written"),
        Column("interruptions", "BIGINT", "number of interrupted attempts"),
        Column("machines", "BIGINT", "largest number of machines that an attempt held"),
        Column(
            "restart_seconds", "BIGINT", "mean time from an attempt's start to its training, without first attempts"
        ),
        Column("writing_seconds", "BIGINT", "mean time to write a checkpoint"),
        Column("interval_seconds", "BIGINT", "mean time between two checkpoints; null: fewer than two were written"),
        Column(
            "uptime_seconds",
            "BIGINT",
            "mean time between interruptions of as many machines of its pool; null: no interruptions",
        ),
        Column("best_seconds", "BIGINT", "the interval that loses least; null: no interruptions"),
        Column("saving", MONEY, "expected saving of that interval out of `spent`; null: unknown"),
    ),
)

ESTIMATES = Table(
    "estimates",
    "The expected cost of each unbilled machine hour, stored for comparison with the later bill.",
    (
        Column("resource_id", TEXT, "the machine's provider resource id"),
        Column("machine_id", TEXT, "the name the job log uses"),
        Column("kind", TEXT, "its instance type or GPU model; null if unknown"),
        Column("category", TEXT, "what kind of cost"),
        Column("service", TEXT, "the service whose last rate was used; null for a price"),
        Column("billed_services", TEXT, "services of the machine already billed for this hour, as JSON; null: none"),
        Column("method", TEXT, "last rate, spot price, contract or price list"),
        Column("price_source", TEXT, "the resource whose rate was used, or where the price was read"),
        Column("currency", TEXT, "the currency of the amount"),
        Column("starts", "BIGINT", "first second of the hour, since 1970"),
        Column("ends", "BIGINT", "last second, exclusive"),
        Column("seconds", "BIGINT", "how long the machine existed in that time"),
        Column("effective", MONEY, "the expected cost"),
    ),
)

PAST_ESTIMATES = Table("past_estimates", "The last estimate of hours no longer estimated.", ESTIMATES.columns)

ESTIMATE_ERRORS = Table(
    "estimate_errors",
    "Estimates in earlier versions of a book, and what the bill says about the same machine hours.",
    (
        Column("day", "DATE", "the UTC day"),
        Column("category", TEXT, "what kind of cost"),
        Column("kind", TEXT, "instance type or GPU model; the resource if neither is known"),
        Column("method", TEXT, "last rate, spot price, contract, price list or not estimated"),
        Column("price_source", TEXT, "the resource whose rate was used, or where the price was read; null: none"),
        Column("currency", TEXT, "the currency of the amounts"),
        Column("machine_seconds", "BIGINT", "how long machines existed; 0 if this was not estimated"),
        Column("estimated", MONEY, "the expected cost; 0 if it was not expected"),
        Column("billed", MONEY, "the billed cost (EffectiveCost)"),
    ),
)

FINDINGS = Table(
    "findings",
    "Problems in the records, and the cost concerned.",
    (
        Column("code", TEXT, "short name of the problem"),
        Column("what", TEXT, "the problem in a sentence"),
        Column("evidence", TEXT, "the first rows that show it, as a JSON list"),
        Column("rows", "BIGINT", "number of rows that show it"),
        Column("at_stake", MONEY, "effective cost concerned; null if unknown"),
        Column("currency", TEXT, "currency of that amount"),
        Column("remedy", TEXT, "what to do about it"),
    ),
)

FAILURE_MODES = Table(
    "failure_modes",
    "The failure modes F1 to F10 found in a book, before thresholds apply; one row per currency.",
    (
        Column("code", TEXT, "which failure mode"),
        Column("limit_name", TEXT, "the threshold under [check]"),
        Column("what", TEXT, "the failure in a sentence"),
        Column("cause", TEXT, "the most likely cause"),
        Column("remedy", TEXT, "what to do about it"),
        Column("command", TEXT, "the command that shows details"),
        Column("fixes", TEXT, "settings that would fix most of it, as TOML; empty if there are none"),
        Column("rows", "BIGINT", "number of rows that show it"),
        Column("at_stake", MONEY, "effective cost concerned; null if unknown"),
        Column("total", MONEY, "the cost it is a part of: all of training, or all jobs"),
        Column("currency", TEXT, "currency of that money"),
    ),
)

FAILURE_ROWS = Table(
    "failure_mode_evidence",
    "The evidence for failure modes: at most 1,000 rows each, those with the highest cost.",
    (
        Column("code", TEXT, "which failure mode"),
        Column("evidence", TEXT, "the evidence"),
        Column("at_stake", MONEY, "effective cost concerned; null if unknown"),
        Column("currency", TEXT, "currency of that money"),
    ),
)

CLOSED_MONTHS = Table(
    "closed_months",
    "What changed for closed months, as far as this book adjusts them or states a difference; one row per currency.",
    (
        Column("month", TEXT, "the closed month"),
        Column("built_from", TEXT, "the deliveries its adjustment was built from, as JSON; null: nothing is booked"),
        Column("fingerprint", TEXT, "of everything that `moved` depends on; null: nothing but bills changed"),
        Column("changed", TEXT, "what changed besides bills: the job log, the rules, or both; null: neither"),
        Column("moved", MONEY, "what other payers would pay if the month was open; null: nothing but bills changed"),
        Column("currency", TEXT, "the currency of that amount"),
    ),
)

OTHER_MONTHS = Table("other_months", "In whose unit cost a book counts, too.", (Column("month", "DATE", "first day"),))
BILLED_ELSEWHERE = Table(
    "billed_elsewhere",
    "The time outside the month of a book for which placements share in its charges for machine time.",
    (
        *(PLACEMENTS.columns[:3] + MACHINES.columns[1:2]),
        *(Column(name, "BIGINT", f"{name} being billed, in seconds since 1970") for name in ("starts", "ends")),
    ),
)

TABLES = (
    *(CHARGES, MACHINES, PLACEMENTS, USAGE, QUALITY, PRICES, SHARES, CONVERSIONS, WORK, CHECKPOINTING, ESTIMATES),
    *(PAST_ESTIMATES, ESTIMATE_ERRORS, FINDINGS, FAILURE_MODES, FAILURE_ROWS, CLOSED_MONTHS, OTHER_MONTHS),
    BILLED_ELSEWHERE,
)
