"""The contract between the stages: every table, every column, its unit and its meaning.

The reference page is printed from here. Money is DECIMAL(38,12); time is UTC and half-open.
"""

from dataclasses import dataclass

MONEY = "DECIMAL(38,12)"
RATE = "DECIMAL(24,14)"
TEXT = "VARCHAR"
TIME = "TIMESTAMP"

BASES = ("effective", "billed", "list", "contracted")
CONVERTED = ("converted_from", "rate", "rate_day", "rate_source", *(f"original_{basis}" for basis in BASES))
"""What a charge says of its conversion from another currency."""
CATEGORIES = (
    *("compute", "storage", "network", "platform", "power", "facility"),
    *("licence", "labour", "support", "tax", "credit", "other"),
)
NOT_INFRASTRUCTURE = ("licence", "labour")
ORIGINS = ("bill", "hardware", "licence", "labour", "invoice", "commitment", "estimate")
ESTIMATED = "estimated"
"""The source that estimates stand under, where the name of a bill's would be."""
LABELS = ("owner", "team", "project", "experiment", "cost_center", "model_version", "priority")
CHARGE_CATEGORIES = ("Usage", "Purchase", "Tax", "Credit", "Adjustment")
"""What FOCUS calls kinds of charges."""
STATES = (
    *("completed", "failed", "preempted", "cancelled", "timeout", "node_failed"),
    *("requeued", "resized", "suspended", "running", "unknown"),
)
ENDED = tuple(state for state in STATES if state not in ("resized", "suspended", "running", "unknown"))
"""States of an attempt that is over."""
MEASURES = ("gpu_busy_seconds", "bytes_sent", "storage_requests", "storage_bytes", "checkpoint", "step")
BETTER = ("higher", "lower")


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
        """The columns as SQL, for `CREATE TABLE name (...)`."""
        return ", ".join(f'"{column.name}" {column.type}' for column in self.columns)

    def typed_select(self, origin: str) -> str:
        """A SELECT that brings `origin` into exactly these columns and types."""
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
        Column("effective", MONEY, "accrued cost with commitments spread over what they cover (EffectiveCost)"),
        Column("billed", MONEY, "cost on the invoice (BilledCost)"),
        Column("list", MONEY, "cost at public prices (ListCost); null where the bill has none"),
        Column("contracted", MONEY, "cost at negotiated prices (ContractedCost); null where the bill has none"),
        Column("source", TEXT, "name of the source that delivered the file"),
        Column("currency", TEXT, "currency of the amounts (BillingCurrency), or the one they were converted to"),
        Column("origin", TEXT, "what it comes from: " + ", ".join(ORIGINS)),
        Column("converted_from", TEXT, "the currency it was converted from; null: it stands as it came"),
        Column("rate", RATE, "how many of `currency` one of `converted_from` was worth; null: it was not converted"),
        Column(
            "rate_day", "DATE", "the day the rate is of: that of period_start, or the last one before that has a rate"
        ),
        Column(
            "rate_source", TEXT, "where the rate was read, and how it was found where it is not in the table as it is"
        ),
        *(Column(f"original_{basis}", MONEY, f"{basis} before it was converted; null: it was not") for basis in BASES),
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
        Column("finer", "INTEGER", "how many of the four amounts were finer than 10^-12 and are rounded to it"),
        Column("tags", TEXT, "Tags as a flat JSON object, or null"),
    ),
)

MACHINES = Table(
    "machines",
    "Something that can be held, and the time it existed. One machine id may stand for several resources over time.",
    (
        Column("machine_id", TEXT, "the name the job log uses"),
        Column("resource_id", TEXT, "the provider's resource id on the bill; the machine id where not given"),
        Column("gpus", "DECIMAL(18,6)", "GPUs it has; null if unknown"),
        Column("gpu_model", TEXT, "what kind of GPU"),
        Column("cpus", "DECIMAL(18,3)", "CPUs it has; null if unknown"),
        Column("memory_gb", "DECIMAL(18,3)", "memory in GB; null if unknown"),
        Column("pool", TEXT, "the pool, partition or node group it belongs to"),
        Column("team", TEXT, 'the team that owns the pool, for `idle = "owner"`'),
        Column("cluster", TEXT, "the cluster it belongs to"),
        Column("region", TEXT, "the region it stands in"),
        Column("account", TEXT, "the cloud account it is billed to"),
        Column("existed_from", TIME, "when it came into being; null: always there"),
        Column("existed_to", TIME, "when it went away, exclusive; null: still there"),
        Column("line", "BIGINT", "position in the file it came from"),
    ),
)

OF_SLURM = ("slurm_cluster", "slurm_run", "slurm_resized")
"""Columns of placements that only Slurm's logs tell."""
PLACEMENTS = Table(
    "placements",
    "One attempt of a job holding an amount of one machine for a time.",
    (
        Column("job_id", TEXT, "what a person asked to train"),
        Column("attempt", "INTEGER", "which try of the job, from 1"),
        Column("machine_id", TEXT, "the machine that was held"),
        Column("started", TIME, "when holding began"),
        Column("ended", TIME, "when it ended, exclusive; null while running"),
        Column("gpus", "DECIMAL(18,6)", "GPUs held, may be a fraction; null: not told, taken as the whole machine"),
        Column("cpus", "DECIMAL(18,3)", "CPUs held"),
        Column("memory_gb", "DECIMAL(18,3)", "memory held, in GB"),
        Column("state", TEXT, "how the attempt ended: " + ", ".join(STATES)),
        Column("owner", TEXT, "the person"),
        Column("team", TEXT, "the team"),
        Column("project", TEXT, "the project"),
        Column("experiment", TEXT, "the experiment or sweep"),
        Column("cost_center", TEXT, "the cost centre that pays"),
        Column("model_version", TEXT, "the model version that was trained"),
        Column("priority", TEXT, "the priority class"),
        Column("submitted", TIME, "when the attempt was put into the queue; null: not told"),
        Column("slurm_cluster", TEXT, "the cluster that counts these jobs; null: not told, or not Slurm's"),
        Column("slurm_run", TIME, "when the attempt began, where the log does not number attempts; null: it does"),
        Column(
            "slurm_resized", TIME, "when the attempt went on with another size, where that ended this; null: it did not"
        ),
        Column("labels", TEXT, "every other label as a flat JSON object, or null"),
        Column("line", "BIGINT", "position in the file it came from"),
    ),
)

USAGE = Table(
    "usage",
    "Something measured about an attempt, as it was delivered.",
    (
        Column("job_id", TEXT, "the job that was measured"),
        Column("attempt", "INTEGER", "which try of the job, from 1"),
        Column("machine_id", TEXT, "the machine it was measured on; null: the attempt as a whole"),
        Column("started", TIME, "when the measured span began"),
        Column("ended", TIME, "when it ended, exclusive; null: a moment"),
        Column("measure", TEXT, "what was measured: " + ", ".join(MEASURES)),
        Column("value", "DECIMAL(26,6)", "how much: seconds, bytes, requests; the step of a checkpoint or step"),
        Column("from_region", TEXT, "where bytes_sent came from; null: the machine's region"),
        Column("to_region", TEXT, "where bytes_sent went to; null: not known"),
        Column("line", "BIGINT", "position in the file it came from"),
    ),
)

QUALITY = Table(
    "quality",
    "How good the result of a job is.",
    (
        Column("job_id", TEXT, "the job"),
        Column("metric", TEXT, "what was evaluated, such as accuracy or perplexity"),
        Column("value", MONEY, "the result"),
        Column("better", TEXT, "which values are better: " + " or ".join(BETTER)),
        Column("line", "BIGINT", "position in the file it came from"),
    ),
)

PRICES = Table(
    "prices",
    "What an hour of a kind of machine costs, and from when to when.",
    (
        Column("kind", TEXT, "instance type or GPU model"),
        Column("region", TEXT, "the region the price is for; null: anywhere"),
        Column("term", TEXT, "how it is bought: on_demand, spot, reserved ..."),
        Column("price", MONEY, "price of one hour of one machine"),
        Column("currency", TEXT, "currency of the price"),
        Column("valid_from", TIME, "from when the price holds"),
        Column("valid_to", TIME, "until when, exclusive; null: until further notice"),
        Column("source", TEXT, "where the price was read"),
        Column("line", "BIGINT", "position in the file it came from"),
    ),
)

CONVERSIONS = Table(
    "conversions",
    "What was converted from another currency, per rate. Adds up to the shares that were converted, exactly.",
    (
        Column("converted_from", TEXT, "the currency of the original amounts"),
        Column("currency", TEXT, "the currency they were converted to"),
        Column("day", "DATE", "the day the charges are for; of longer ones the first"),
        Column("rate", RATE, "how many of `currency` one of `converted_from` was worth"),
        Column("rate_day", "DATE", "the day the rate is of"),
        Column("rate_source", TEXT, "where the rate was read, and how it was found"),
        Column("adjusts", TEXT, "the closed month that the charges adjust; null: none"),
        Column("category", TEXT, "what kind of cost"),
        Column("lines", "BIGINT", "how many lines of bills and ledgers"),
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
        Column("machine_id", TEXT, "the machine whose pot it was; null for pots of a wider scope"),
        Column("resource_id", TEXT, "that machine's provider resource id"),
        Column("day", "DATE", "the UTC day the money is for"),
        Column("category", TEXT, "what kind of cost: " + ", ".join(CATEGORIES)),
        Column("rule", TEXT, "the rule that took the charges"),
        Column("reason", TEXT, "why the money is idle, unallocated or outside; null for attempts"),
        Column("source", TEXT, "the source that delivered the bill"),
        Column("origin", TEXT, "what the charges come from: " + ", ".join(ORIGINS)),
        Column("estimated", "BOOLEAN", "whether no bill says this yet: it is what we expect the bill to say"),
        Column("account", TEXT, "the account the charges are on"),
        Column("currency", TEXT, "the currency of the amounts"),
        Column("converted_from", TEXT, "the currency they were converted from; null: they stand as they came"),
        Column("effective", MONEY, "part of EffectiveCost"),
        Column("billed", MONEY, "part of BilledCost"),
        Column("list", MONEY, "part of ListCost"),
        Column("contracted", MONEY, "part of ContractedCost"),
    ),
)

WORK = Table(
    "work",
    "The money of attempts that was lost or overhead, cut in time. What remains of their shares was kept.",
    (
        Column("job_id", TEXT, "the job"),
        Column("attempt", "INTEGER", "which try of the job"),
        Column("day", "DATE", "the UTC day the money is for"),
        Column("category", TEXT, "what kind of cost"),
        Column("currency", TEXT, "the currency of the amounts"),
        Column("part", TEXT, "lost or overhead"),
        Column(
            "how",
            TEXT,
            "measured, or at most: no checkpoints are known, so the whole of an interrupted attempt counts as lost",
        ),
        Column("effective", MONEY, "part of EffectiveCost"),
        Column("billed", MONEY, "part of BilledCost"),
        Column("list", MONEY, "part of ListCost"),
        Column("contracted", MONEY, "part of ContractedCost"),
    ),
)

CHECKPOINTING = Table(
    "checkpointing",
    "How each job with checkpoints saves its work, and the interval that would lose least.",
    (
        Column("job_id", TEXT, "the job"),
        Column("currency", TEXT, "the currency of the amounts"),
        Column("spent", MONEY, "effective cost of the job in the month"),
        Column("checkpoints", "BIGINT", "how many it wrote"),
        Column("interruptions", "BIGINT", "how many of its attempts were interrupted"),
        Column("machines", "BIGINT", "most machines an attempt of it held"),
        Column("restart_seconds", "BIGINT", "mean time from an attempt's start to its training; first attempts aside"),
        Column("writing_seconds", "BIGINT", "mean time a checkpoint takes"),
        Column("interval_seconds", "BIGINT", "mean time between two checkpoints; null: it wrote one at most"),
        Column(
            "uptime_seconds", "BIGINT", "mean time between interruptions of as many machines of its pool; null: none"
        ),
        Column("best_seconds", "BIGINT", "the interval that loses least; null: nothing was interrupted"),
        Column("saving", MONEY, "what that interval would save of `spent`, on average; null: not known"),
    ),
)

ESTIMATES = Table(
    "estimates",
    "What each hour of a machine without a bill was expected to cost, kept for the day the bill comes.",
    (
        Column("resource_id", TEXT, "the machine's provider resource id"),
        Column("machine_id", TEXT, "the name the job log uses"),
        Column("kind", TEXT, "its instance type or GPU model; null if unknown"),
        Column("category", TEXT, "what kind of cost"),
        Column("method", TEXT, "last rate, spot price, contract or price list"),
        Column("price_source", TEXT, "whose rate, or where the price was read"),
        Column("currency", TEXT, "the currency of the amount"),
        Column("starts", "BIGINT", "first second it is for, since 1970"),
        Column("ends", "BIGINT", "second it ends at, exclusive"),
        Column("seconds", "BIGINT", "how long the machine was there in that time"),
        Column("effective", MONEY, "what it was expected to cost"),
    ),
)

ESTIMATE_ERRORS = Table(
    "estimate_errors",
    "What was estimated in earlier versions of a book, and what the bill then said.",
    (
        Column("day", "DATE", "the UTC day it was for"),
        Column("category", TEXT, "what kind of cost"),
        Column("kind", TEXT, "instance type or GPU model; the resource where neither is known"),
        Column("method", TEXT, "last rate, spot price, contract or price list"),
        Column("price_source", TEXT, "whose rate, or where the price was read"),
        Column("currency", TEXT, "the currency of the amounts"),
        Column("machine_seconds", "BIGINT", "how long machines were there"),
        Column("estimated", MONEY, "what it was expected to cost"),
        Column("billed", MONEY, "what the bill said (EffectiveCost)"),
    ),
)

FINDINGS = Table(
    "findings",
    "What is wrong with the records, and what it may cost.",
    (
        Column("code", TEXT, "short name of the fault"),
        Column("what", TEXT, "the fault in a sentence"),
        Column("evidence", TEXT, "the first rows that show it, as a JSON list"),
        Column("rows", "BIGINT", "how many rows show it"),
        Column("at_stake", MONEY, "effective cost concerned; null if unknown"),
        Column("currency", TEXT, "currency of that money"),
        Column("remedy", TEXT, "what to do about it"),
    ),
)

FAILURES = Table(
    "failures",
    "The failure modes F1 to F10 that show in a book, before any limit is asked; one row per currency.",
    (
        Column("code", TEXT, "which failure mode"),
        Column("limit_name", TEXT, "the setting below [check] that says how much of it is too much"),
        Column("what", TEXT, "the failure in a sentence"),
        Column("cause", TEXT, "what it most likely comes from"),
        Column("remedy", TEXT, "what to do about it"),
        Column("command", TEXT, "the command that shows more"),
        Column("repairs", TEXT, "settings that would repair most of it, as TOML; empty where there are none"),
        Column("rows", "BIGINT", "how many rows show it"),
        Column("at_stake", MONEY, "effective cost concerned; null if unknown"),
        Column("whole", MONEY, "the money it is a part of: all of training, or all jobs"),
        Column("currency", TEXT, "currency of that money"),
    ),
)

FAILURE_ROWS = Table(
    "failure_rows",
    "The evidence of failure modes: at most 1,000 rows each, those with the most money.",
    (
        Column("code", TEXT, "which failure mode"),
        Column("evidence", TEXT, "what shows it"),
        Column("at_stake", MONEY, "effective cost concerned; null if unknown"),
        Column("currency", TEXT, "currency of that money"),
    ),
)

TABLES = (
    CHARGES,
    MACHINES,
    PLACEMENTS,
    USAGE,
    QUALITY,
    PRICES,
    SHARES,
    CONVERSIONS,
    WORK,
    CHECKPOINTING,
    ESTIMATES,
    ESTIMATE_ERRORS,
    FINDINGS,
    FAILURES,
    FAILURE_ROWS,
)
