"""The columns of ledger files, which hold costs that are on no bill: each with its unit and meaning."""

from trainfare.tables import MONEY, RATE, TEXT, TIME, Column, Table

TARGET_COLUMNS = ("job_id", "project", "team", "cost_center", "owner", "experiment", "model_version")
"""The columns in which a row of a ledger names who it is for."""
_TARGETS = tuple(
    Column(name, TEXT, f"the {name.removesuffix('_id').replace('_', ' ')} it is for") for name in TARGET_COLUMNS
)
_LINE = Column("line", "BIGINT", "position in the file it came from")

HARDWARE = Table(
    "hardware",
    "An owned machine: what it cost, how long it lasts, and what it costs to run.",
    (
        Column("machine_id", TEXT, "the name the job log uses"),
        Column("resource_id", TEXT, "its resource id in the machine file; the machine id if empty"),
        Column("price", MONEY, "what it cost"),
        Column("salvage", MONEY, "its value at the end of its life; 0 if empty"),
        Column("currency", TEXT, "currency of all amounts in the row"),
        Column("in_service", TIME, "the day it was put into service"),
        Column("life_months", "INTEGER", "number of months it is depreciated over"),
        Column("method", TEXT, "straight (the same every day) or declining; straight if empty"),
        Column("factor", "DECIMAL(9,4)", "for declining: multiple of the straight rate; 2 if empty"),
        Column("retired", TIME, "the day it was retired; null: still in use. Depreciation continues"),
        Column(
            "rated_kw",
            "DECIMAL(18,6)",
            "power it draws while nothing is measured; null: only measured power counts",
        ),
        Column("pue", "DECIMAL(9,4)", "power of the entire room over power of the machine; 1 if empty"),
        Column("tariff", TEXT, "name of the tariff its power is bought at; null: power has no cost of its own"),
        Column("space", MONEY, "rent of its space, per calendar month"),
        Column("cooling", MONEY, "cooling that is not part of the power, per calendar month"),
        Column("maintenance", MONEY, "repairs and support, per calendar month"),
        Column("admin", MONEY, "administration, per calendar month"),
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
        Column("to_hour", "INTEGER", "hour it ends at, 1 to 24; null: 24. If before from_hour, it spans midnight"),
        Column("valid_from", TIME, "when the price becomes valid; null: always valid"),
        Column("valid_to", TIME, "when it ends, exclusive; null: until further notice"),
        Column("zone", TEXT, "the zone of these hours: the source's"),
        _LINE,
    ),
)

POWER = Table(
    "power",
    "Power readings of machines. Between two readings of one machine their mean applies.",
    (
        Column("machine_id", TEXT, "the machine, as in the hardware file"),
        Column("time", TIME, "time of the reading"),
        Column("kw", "DECIMAL(18,6)", "power drawn, in kW"),
        _LINE,
    ),
)

LICENSES = Table(
    "licenses",
    "A license: what it costs, the unit it is sold by, and its term.",
    (
        Column("license", TEXT, "what is licensed"),
        Column("per", TEXT, "the unit of the price: seat, core, gpu, hour or flat"),
        Column("quantity", "DECIMAL(18,6)", "how many seats, cores or GPUs; 1 if empty"),
        Column("price", MONEY, "price of one unit, for the period in `every`"),
        Column("every", TEXT, "month, year or term: the period of the price; month if empty. Not used per hour"),
        Column("currency", TEXT, "currency of the price"),
        Column("started", TIME, "first day of the term"),
        Column("ended", TIME, "the day after its last day"),
        Column("machine_id", TEXT, "the machine it is for; null: not for a single machine"),
        *_TARGETS,
        _LINE,
    ),
)

LABOR = Table(
    "labor",
    "A time entry: who worked how long on what, at which hourly rate.",
    (
        Column("day", TIME, "the day"),
        Column("person", TEXT, "who worked; null if only the role is given"),
        Column("role", TEXT, "in which role"),
        Column("hours", "DECIMAL(18,6)", "duration; a negative value reverses an earlier entry"),
        Column("rate", MONEY, "cost of an hour"),
        Column("currency", TEXT, "currency of the rate"),
        Column("note", TEXT, "what was done"),
        *_TARGETS,
        _LINE,
    ),
)

INVOICES = Table(
    "invoices",
    "A line of a vendor's invoice, and the period it covers.",
    (
        Column("invoice", TEXT, "the invoice's number"),
        Column("vendor", TEXT, "who issued it"),
        Column("description", TEXT, "what it is for"),
        Column("category", TEXT, "cost category; other if empty"),
        Column("amount", MONEY, "the amount; negative for a credit note"),
        Column("currency", TEXT, "currency of the amount"),
        Column("started", TIME, "first day of the period"),
        Column("ended", TIME, "the day after its last day"),
        Column("machine_id", TEXT, "the machine it is for; null: not for a single machine"),
        *_TARGETS,
        _LINE,
    ),
)

COMMITMENTS = Table(
    "commitments",
    "A commitment bought for a term, for bills that do not amortize it themselves.",
    (
        Column("commitment_id", TEXT, "its CommitmentDiscountId on the bill"),
        Column("price", MONEY, "cost of the entire term"),
        Column("currency", TEXT, "currency of the price"),
        Column("started", TIME, "first day of the term"),
        Column("ended", TIME, "the day after its last day"),
        Column("quantity", "INTEGER", "number of machines it covers at once; 1 if empty"),
        _LINE,
    ),
)

RATES = Table(
    "rates",
    "The value of one unit of a currency in another, day by day.",
    (
        Column("day", TIME, "the day of the rate"),
        Column("from_currency", TEXT, "one unit of this currency ..."),
        Column("to_currency", TEXT, "... is worth `rate` units of this one"),
        Column("rate", RATE, "the exchange rate"),
        Column("source", TEXT, "where the rate was found"),
        _LINE,
    ),
)

LEDGERS = (HARDWARE, TARIFFS, POWER, LICENSES, LABOR, INVOICES, COMMITMENTS, RATES)
