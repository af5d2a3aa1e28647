"""The columns of ledger files: what is on no bill, each with its unit and meaning."""

from trainfare.tables import MONEY, RATE, TEXT, TIME, Column, Table

NAMED = ("job_id", "project", "team", "cost_center", "owner", "experiment", "model_version")
"""What a row of a ledger may name as the one it is for."""
_FOR = tuple(Column(name, TEXT, f"the {name.removesuffix('_id').replace('_', ' ')} it is for") for name in NAMED)
_LINE = Column("line", "BIGINT", "position in the file it came from")

HARDWARE = Table(
    "hardware",
    "A machine that was bought: what it cost, how long it lasts, and what it costs to run.",
    (
        Column("machine_id", TEXT, "the name the job log uses"),
        Column("resource_id", TEXT, "its resource id in the machine file; the machine id where not given"),
        Column("price", MONEY, "what it cost"),
        Column("salvage", MONEY, "what it is still worth at the end of its life; 0 where not given"),
        Column("currency", TEXT, "currency of all amounts in the row"),
        Column("in_service", TIME, "the day from which it counts"),
        Column("life_months", "INTEGER", "how many months it is written off over"),
        Column("method", TEXT, "straight (the same every day) or declining; straight where not given"),
        Column("factor", "DECIMAL(9,4)", "for declining: times the straight rate; 2 where not given"),
        Column("retired", TIME, "the day from which it runs no more; null: still there. Writing off goes on"),
        Column(
            "rated_kw",
            "DECIMAL(18,6)",
            "power it draws while nothing was measured; null: only what was measured counts",
        ),
        Column("pue", "DECIMAL(9,4)", "power of the whole room over power of the machine; 1 where not given"),
        Column("tariff", TEXT, "name of the tariff its power is bought at; null: power costs nothing extra"),
        Column("space", MONEY, "rent of its place, a calendar month"),
        Column("cooling", MONEY, "cooling that is not in the power, a calendar month"),
        Column("maintenance", MONEY, "repairs and support, a calendar month"),
        Column("admin", MONEY, "running it, a calendar month"),
        _LINE,
    ),
)

TARIFFS = Table(
    "tariffs",
    "What a kilowatt-hour costs, by time of day and day of the week. Times are local, in the source's zone.",
    (
        Column("tariff", TEXT, "its name"),
        Column("price_per_kwh", MONEY, "price of a kilowatt-hour"),
        Column("currency", TEXT, "currency of the price"),
        Column("days", TEXT, "mon tue wed thu fri sat sun, or a range such as mon-fri; null: every day"),
        Column("from_hour", "INTEGER", "first hour of the day, 0 to 23; null: 0"),
        Column("to_hour", "INTEGER", "hour it ends at, 1 to 24; null: 24. Before from_hour: through midnight"),
        Column("valid_from", TIME, "from when the price holds; null: always did"),
        Column("valid_to", TIME, "until when, exclusive; null: until further notice"),
        Column("zone", TEXT, "the zone of these hours: the source's"),
        _LINE,
    ),
)

POWER = Table(
    "power",
    "Power readings of machines. Between two readings of one machine the mean of both is taken.",
    (
        Column("machine_id", TEXT, "the machine, as in the hardware file"),
        Column("time", TIME, "when it was read"),
        Column("kw", "DECIMAL(18,6)", "power it drew then, in kW"),
        _LINE,
    ),
)

LICENCES = Table(
    "licences",
    "A licence: what it costs, by what it is counted, and its term.",
    (
        Column("licence", TEXT, "what is licensed"),
        Column("per", TEXT, "what the price is for: seat, core, gpu, hour or flat"),
        Column("quantity", "DECIMAL(18,6)", "how many seats, cores or GPUs; 1 where not given"),
        Column("price", MONEY, "price of one, for the time in `every`"),
        Column("every", TEXT, "month, year or term: the time the price is for; month where not given. Not for hour"),
        Column("currency", TEXT, "currency of the price"),
        Column("started", TIME, "first day of the term"),
        Column("ended", TIME, "the day after its last"),
        Column("machine_id", TEXT, "the machine it is for; null: not for one machine"),
        *_FOR,
        _LINE,
    ),
)

LABOUR = Table(
    "labour",
    "A time entry: who worked how long on what, and what an hour costs.",
    (
        Column("day", TIME, "the day"),
        Column("person", TEXT, "who; null where only the role is told"),
        Column("role", TEXT, "as what"),
        Column("hours", "DECIMAL(18,6)", "how long; below zero takes an earlier entry back"),
        Column("rate", MONEY, "what an hour costs"),
        Column("currency", TEXT, "currency of the rate"),
        Column("note", TEXT, "what was done"),
        *_FOR,
        _LINE,
    ),
)

INVOICES = Table(
    "invoices",
    "A line of a vendor's invoice, and the time it is for.",
    (
        Column("invoice", TEXT, "the invoice's number"),
        Column("vendor", TEXT, "who wrote it"),
        Column("description", TEXT, "what it is for"),
        Column("category", TEXT, "what kind of cost; other where not given"),
        Column("amount", MONEY, "the amount; below zero for a credit note"),
        Column("currency", TEXT, "currency of the amount"),
        Column("started", TIME, "first day of the time it is for"),
        Column("ended", TIME, "the day after its last"),
        Column("machine_id", TEXT, "the machine it is for; null: not for one machine"),
        *_FOR,
        _LINE,
    ),
)

COMMITMENTS = Table(
    "commitments",
    "A commitment that was bought for a term, where the bill does not spread it itself.",
    (
        Column("commitment_id", TEXT, "its CommitmentDiscountId on the bill"),
        Column("price", MONEY, "what the whole term costs"),
        Column("currency", TEXT, "currency of the price"),
        Column("started", TIME, "first day of the term"),
        Column("ended", TIME, "the day after its last"),
        Column("quantity", "INTEGER", "how many machines it covers at once; 1 where not given"),
        _LINE,
    ),
)

RATES = Table(
    "rates",
    "What one of a currency is worth in another, day by day.",
    (
        Column("day", TIME, "the day the rate is of"),
        Column("from_currency", TEXT, "one of this currency ..."),
        Column("to_currency", TEXT, "... is worth `rate` of this one"),
        Column("rate", RATE, "how many"),
        Column("source", TEXT, "where the rate was read"),
        _LINE,
    ),
)

LEDGERS = (HARDWARE, TARIFFS, POWER, LICENCES, LABOUR, INVOICES, COMMITMENTS, RATES)
