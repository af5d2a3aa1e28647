"""What a question about books must return, in plain Python: rows of the stored tables, whole seconds and Decimals.

None of the queries is used here. Wall time is a union of intervals, GPU time a sum of products, a rate is divided last.
Rates per wall hour count the days on which everything that an attempt held is billed, in this book or in another one.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from math import ceil
from typing import Any

from trainfare.engine.duckdb import DuckDB, parquet
from trainfare.query.cost import Question, Row
from trainfare.store.records import BookFiles

EPOCH, DAY = date(1970, 1, 1), 86400
CHARGE_KEYS = ("category", "rule", "source", "origin", "account")
LABELS = ("owner", "team", "project", "experiment", "cost_center", "model_version", "priority")
KINDS = {"jobs": ("attempt", "label"), "idle": ("idle",), "unallocated": ("unallocated",), "outside": ("outside",)}
Values = dict[str, Any]


@dataclass(frozen=True)
class Share:
    """A part of the bill and who pays it."""

    kind: Values
    payer: Values
    attempt: Values
    machine: Values
    day: date
    amounts: Values
    is_booked: bool = True
    in_month: bool = True
    in_wall: bool = True
    gpu_part: Fraction = Fraction(1)
    """How much of it counts in rates per GPU hour."""
    is_counted: bool = False
    """Whether it counts in the cost that was asked for."""

    def amount(self, basis: str, counts: str) -> Decimal:
        """Return what counts: in the cost of books, of days, or in rates per wall or GPU hour."""
        if counts == "gpu":
            units = self.amounts[basis].scaleb(12)
            return Decimal(int(units * self.gpu_part.numerator / self.gpu_part.denominator)).scaleb(-12)
        return self.amounts[basis] if getattr(self, counts) else Decimal(0)

    def counts(self, counts: str) -> bool:
        return self.gpu_part > 0 if counts == "gpu" else bool(getattr(self, counts))


@dataclass(frozen=True)
class Held:
    """One day of one placement, per currency: from which second to which it was held, and billed."""

    attempt: Values
    machine: Values
    day: date
    currency: str
    span: tuple[int, int]
    billed: tuple[int, int] | None
    gpu_micros: int | None
    is_complete: bool = False
    """Whether everything that the attempt held on this day is billed."""


@dataclass
class Hours:
    spans: list[tuple[int, int]] = field(default_factory=list)
    billed: list[tuple[int, int]] = field(default_factory=list)
    gpu: int = 0
    billed_gpu: int = 0
    is_unknown: bool = False


class Model:
    """The rows of some books, as far as labels (KEY:VALUE) allow; None for all of them."""

    def __init__(self, books: Sequence[BookFiles], visibility: Sequence[str] | None) -> None:
        self.shares: list[Share] = []
        self.held: list[Held] = []
        self.states: dict[str, str] = {}
        self._visibility = visibility
        books = sorted(books, key=lambda book: book.month)
        self.months = {str(book.month) for book in books}
        tables = [_tables(book) for book in books]
        self.currencies = {one["currency"] for book in tables for one in book["share_kinds"]}
        for book, read in zip(books, tables, strict=True):
            self._read(book, read)
        last: dict[str, tuple[int, int]] = {}
        for number, book in enumerate(tables):
            for one in book["book_attempts"]:
                if self._is_seen(one) and (one["attempt"], number) >= last.get(one["job_id"], (0, 0)):
                    last[one["job_id"]] = (one["attempt"], number)
                    self.states[one["job_id"]] = one["state"]

    def _is_seen(self, attempt: Values) -> bool:
        if self._visibility is None:
            return True
        return any(attempt.get(key) == value for key, _, value in (one.partition(":") for one in self._visibility))

    def _read(self, book: BookFiles, tables: dict[str, list[Values]]) -> None:
        attempts = {one["attempt_key"]: one for one in tables["book_attempts"]}
        machines = {one["machine"]: one for one in tables["book_machines"]}
        first, end = book.month.start.date(), book.month.end.date()
        shares = [replace(one, in_month=first <= one.day < end) for one in _shares(tables)]
        shares += [
            replace(one, is_booked=False)
            for other in book.others
            for one in _shares(_tables(other))
            if first <= one.day < end
        ]
        currencies = {share.kind["currency"] for share in shares}
        billed = {(_resource(share.machine), share.kind["currency"]) for share in shares if share.machine}
        billed |= {
            (_name(share.attempt), share.kind["currency"])
            for share in shares
            if share.attempt and not share.machine and share.kind["category"] in ("compute", "platform")
        }
        held = []
        for one in tables["book_placements"]:
            attempt = attempts[one["attempt_key"]]
            machine = machines.get(one["machine"], {"machine_id": one["unknown_machine"]})
            for currency in self.currencies:
                names = (_resource(machine), _name(attempt))
                is_billed = currencies == {currency} or any((name, currency) in billed for name in names)
                held += _days(one, attempt, machine, currency, is_billed)
        days = Days(held, tables["book_placements"], attempts, int(book.month.end.timestamp()))
        self.held += [
            replace(one, is_complete=days.are_complete(one.attempt, one.day, one.currency))
            for one in held
            if self._is_seen(one.attempt)
        ]
        self.shares += [days.marked(share) for share in shares if self._may_see(share)]

    def _may_see(self, share: Share) -> bool:
        if share.attempt:
            return self._is_seen(share.attempt)
        is_listed = share.payer["payer_kind"] == "label" and share.payer["payer"] in (self._visibility or ())
        return self._visibility is None or is_listed

    def rows(self, question: Question, by: Sequence[str]) -> dict[tuple[Any, ...], Row]:
        """Return the cost, hours and rates of jobs per group."""
        counts = {"cost": "is_counted", "rate": "in_wall" if question.per == "wall" else "gpu", "known": "gpu"}
        sums: dict[str, dict[tuple[Any, ...], Decimal]] = {
            name: defaultdict(Decimal) for name in (*counts, "estimated")
        }
        of_jobs: dict[tuple[Any, ...], dict[str, Decimal]] = defaultdict(lambda: defaultdict(Decimal))
        for share in self._selected(question, with_rates=True):
            share = replace(share, is_counted=self._is_counted(share, question))
            if share.payer["payer_kind"] not in ("attempt", "label"):
                continue
            key = tuple(self._of_share(share, one) for one in by)
            for name, what in counts.items():
                if share.counts(what):
                    sums[name][key] += share.amount(question.basis, what)
            if share.kind["origin"] == "estimate":
                sums["estimated"][key] += share.amount(question.basis, counts["cost"])
            if share.attempt and share.counts(counts["rate"]):
                of_jobs[key][share.attempt["job_id"]] += share.amount(question.basis, counts["rate"])
        hours = self._hours(question, [one for one in by if one not in CHARGE_KEYS])
        found = {*sums["cost"], *sums["rate"], *sums["known"]} | (set() if by else {()})
        found |= {*hours} if not {*by} & {*CHARGE_KEYS} else set()
        rows = {}
        for key in found:
            time = hours.get(tuple(v for v, one in zip(key, by, strict=True) if one not in CHARGE_KEYS), {})
            rates = sorted(
                rate
                for job, amount in of_jobs[key].items()
                if job in time and (rate := _rate(amount, [time[job]], question.per)) is not None
            )
            money = {name: sums[name].get(key) for name in sums}
            rows[key] = _row(money, list(time.values()), rates, question.per)
        return rows

    def jobs(self, question: Question) -> dict[str, tuple[Decimal | None, int | None, str]]:
        """Return the cost, the wall time and the last state of each job that held or paid for anything."""
        costs: dict[str, Decimal] = defaultdict(Decimal)
        for share in self._selected(question):
            if share.attempt:
                costs[share.attempt["job_id"]] += share.amounts[question.basis]
        hours = self._hours(question, []).get((), {})
        return {
            job: (costs.get(job), _length(hours[job].spans) if job in hours else None, self.states[job])
            for job in {*costs, *hours}
        }

    def cost_of(self, question: Question, kind: str) -> Decimal:
        """Return what one kind of payer pays."""
        paid = [share for share in self._selected(question) if share.payer["payer_kind"] == kind]
        return sum((share.amounts[question.basis] for share in paid), Decimal(0))

    def _is_counted(self, share: Share, question: Question) -> bool:
        if question.days is None:
            return share.is_booked
        return share.in_month or (share.is_booked and f"{share.day:%Y-%m}" not in self.months)

    def _selected(self, question: Question, with_rates: bool = False) -> Iterator[Share]:
        for share in self.shares:
            if not (self._is_counted(share, question) or (with_rates and share.gpu_part > 0)):
                continue
            matches = all(_matches(self._of_share(share, key), key, values) for key, values in question.filters)
            is_in_scope = question.scope == "full" or share.kind["category"] not in ("license", "labor")
            if share.kind["currency"] == question.currency and is_in_scope and matches and _in(share.day, question):
                yield share

    def _hours(self, question: Question, by: Sequence[str]) -> dict[tuple[Any, ...], dict[str, Hours]]:
        found: dict[tuple[Any, ...], dict[str, Hours]] = defaultdict(lambda: defaultdict(Hours))
        filters = [(key, values) for key, values in question.filters if key not in (*CHARGE_KEYS, "payer")]
        for held in self.held:
            if held.currency != question.currency or not _in(held.day, question):
                continue
            if not all(_matches(self._of_held(held, key), key, values) for key, values in filters):
                continue
            hours = found[tuple(self._of_held(held, key) for key in by)][held.attempt["job_id"]]
            hours.spans.append(held.span)
            hours.is_unknown |= held.gpu_micros is None
            hours.gpu += (held.span[1] - held.span[0]) * (held.gpu_micros or 0)
            if held.is_complete:
                hours.billed.append(held.span)
            if held.billed:
                hours.billed_gpu += (held.billed[1] - held.billed[0]) * (held.gpu_micros or 0)
        return found

    def _of_share(self, share: Share, key: str) -> Any:
        if key == "payer":
            return share.payer["payer_kind"]
        if key in CHARGE_KEYS:
            return share.kind[key]
        if key in LABELS and share.payer["payer_kind"] == "label" and share.payer["payer"].startswith(f"{key}:"):
            return share.payer["payer"].partition(":")[2]
        return self._of(key, share.attempt, share.machine, share.day)

    def _of_held(self, held: Held, key: str) -> Any:
        return self._of(key, held.attempt, held.machine, held.day)

    def _of(self, key: str, attempt: Values, machine: Values, day: date) -> Any:
        named = {"job": attempt.get("job_id"), "machine": machine.get("machine_id"), "day": day}
        if attempt:
            named["attempt"] = f"{attempt['job_id']}#{attempt['attempt']}"
            named["state"] = self.states[attempt["job_id"]]
        if key == "month":
            return f"{day:%Y-%m}"
        if key in (*LABELS, "job", "attempt", "state", "machine", "day"):
            return named.get(key) if key not in LABELS else attempt.get(key)
        return machine.get(key)


class Days:
    """Which days of attempts are billed in full, per currency."""

    def __init__(self, held: Sequence[Held], placements: Sequence[Values], attempts: Values, month_end: int) -> None:
        self._time: dict[tuple[str, date, str], list[int]] = defaultdict(lambda: [0, 0, 0, 0])
        self._last: dict[str, date] = {}
        for one in held:
            name, billed = _name(one.attempt), one.billed or (0, 0)
            seconds, micros = (one.span[1] - one.span[0], billed[1] - billed[0]), one.gpu_micros or 0
            added = (*seconds, seconds[0] * micros, seconds[1] * micros)
            self._time[name, one.day, one.currency] = [
                a + b for a, b in zip(self._time[name, one.day, one.currency], added, strict=True)
            ]
            self._last[name] = max(self._last.get(name, one.day), one.day)
        running: dict[tuple[Any, ...], Values] = {}
        for row in placements:
            place = (row["attempt_key"], row["machine"], row["unknown_machine"])
            if row["running"] and row["ends"] > running.get(place, {"ends": 0})["ends"]:
                running[place] = row
        for row in running.values():
            if row["ends"] < month_end:  # it holds on
                day, left = EPOCH + timedelta(days=row["ends"] // DAY), DAY - row["ends"] % DAY
                for currency in {one.currency for one in held}:
                    time = self._time[_name(attempts[row["attempt_key"]]), day, currency]
                    time[0], time[2] = time[0] + left, time[2] + left * (row["gpu_micros"] or 0)

    def are_complete(self, attempt: Values, day: date, currency: str) -> bool:
        held, billed, *_ = self._time[_name(attempt), day, currency]
        return held == billed

    def marked(self, share: Share) -> Share:
        """Say how a share counts in rates."""
        if not share.in_month:
            return replace(share, in_wall=False, gpu_part=Fraction(0))
        if not share.attempt:
            return share
        name = _name(share.attempt)
        may_be_later = share.is_booked or share.attempt["state"] == "running"
        if may_be_later and (name not in self._last or share.day > self._last[name]):
            return replace(share, in_wall=False, gpu_part=Fraction(0))
        if self.are_complete(share.attempt, share.day, share.kind["currency"]):
            return share
        category = share.kind["category"]
        if not self._time[name, share.day, share.kind["currency"]][1]:
            return replace(share, in_wall=False, gpu_part=Fraction(0))
        if category in ("compute", "platform") or (share.machine and category in ("power", "facility", "other")):
            return replace(share, in_wall=False)
        _, _, held, billed = self._time[name, share.day, share.kind["currency"]]
        return replace(share, in_wall=False, gpu_part=Fraction(billed, held) if billed else Fraction(0))


def _name(attempt: Values) -> str:
    return f"{attempt['job_id']}#{attempt['attempt']}"


def _resource(machine: Values) -> str | None:
    return machine["resource_id"].lower() if machine.get("resource_id") else None


def _shares(tables: dict[str, list[Values]]) -> list[Share]:
    kinds = {one["share_kind"]: one for one in tables["share_kinds"]}
    payers = {one["payer_key"]: one for one in tables["payers"]}
    attempts = {one["attempt_key"]: one for one in tables["book_attempts"]}
    machines = {one["machine"]: one for one in tables["book_machines"]}
    return [
        Share(
            kinds[one["share_kind"]],
            payers.get(one["payer_key"], {"payer_kind": "attempt"}),
            attempts.get(one["payer_key"], {}),
            machines.get(one["machine"], {}),
            EPOCH + timedelta(days=one["day"]),
            one,
        )
        for one in tables["shares"]
    ]


def _tables(book: BookFiles) -> dict[str, list[Values]]:
    engine = DuckDB()
    names = ("shares", "share_kinds", "payers", "book_attempts", "book_placements", "book_machines")
    found = {name: engine.records(f"SELECT * FROM {parquet(book.files[name])}") for name in names}
    engine.close()
    return found


def _days(one: Values, attempt: Values, machine: Values, currency: str, is_billed: bool) -> Iterator[Held]:
    for number in range(one["starts"] // DAY, (one["ends"] - 1) // DAY + 1):
        first, last = number * DAY, number * DAY + DAY
        billed = None
        if is_billed and one["billed_starts"] is not None and one["billed_ends"] is not None:
            start, end = max(one["billed_starts"], first), min(one["billed_ends"], last)
            billed = (start, end) if end > start else None
        span = (max(one["starts"], first), min(one["ends"], last))
        day = EPOCH + timedelta(days=number)
        yield Held(attempt, machine, day, currency, span, billed, one["gpu_micros"])


def _matches(value: Any, key: str, values: Sequence[str]) -> bool:
    if key == "payer":
        return any(value in KINDS[one] for one in values)
    return "(none)" in values if value is None else str(value) in values


def _in(day: date, question: Question) -> bool:
    return question.days is None or question.days[0] <= day < question.days[1]


def _length(spans: Iterable[tuple[int, int]]) -> int:
    """Return how long the union of intervals is."""
    total, reached = 0, -1
    for start, end in sorted(spans):
        total += max(end - max(start, reached), 0)
        reached = max(reached, end)
    return total


def _rate(cost: Decimal | None, hours: Sequence[Hours], per: str) -> Decimal | None:
    """Return cost per billed hour to a millionth, half away from zero; None without billed hours."""
    micros = sum(_length(one.billed) * 10**6 if per == "wall" else one.billed_gpu for one in hours)
    if cost is None or not micros or (per == "gpu" and any(one.is_unknown for one in hours)):
        return None
    return _divided(cost, micros)


def _divided(cost: Decimal, micros: int) -> Decimal:
    exact = abs(Fraction(cost)) * 3600 * 10**12 / micros
    size = (exact * 2 + 1) // 2
    return Decimal(int(size) if cost >= 0 else -int(size)).scaleb(-6)


def _median(rates: list[Decimal]) -> Decimal:
    """Return the mean of the one or two rates in the middle, to a millionth, half away from zero."""
    exact = Fraction(rates[(len(rates) - 1) // 2] + rates[len(rates) // 2]) / 2 * 10**6
    size = (abs(exact) * 2 + 1) // 2
    return Decimal(int(size) if exact >= 0 else -int(size)).scaleb(-6)


def _row(money: dict[str, Decimal | None], hours: list[Hours], rates: list[Decimal], per: str) -> Row:
    wall, billed = (sum(map(_length, spans)) for spans in ([h.spans for h in hours], [h.billed for h in hours]))
    gpu, billed_gpu = (
        Decimal(sum(found)).scaleb(-6) for found in ([h.gpu for h in hours], [h.billed_gpu for h in hours])
    )
    is_unknown = any(one.is_unknown for one in hours)
    rate, known = _rate(money["rate"], hours, per), money["known"]
    has_bound = rate is None and per == "wall" and wall > 0 and known is not None
    return Row(
        group={},
        cost=money["cost"],
        wall_seconds=wall,
        unbilled_wall_seconds=wall - billed,
        gpu_seconds=None if is_unknown else gpu,
        unbilled_gpu_seconds=None if is_unknown else gpu - billed_gpu,
        rate=rate,
        rate_median=_median(rates) if rates else None,
        rate_p95=rates[max(ceil(Fraction(95, 100) * len(rates)) - 1, 0)] if rates else None,
        jobs=len(hours),
        estimated=money["estimated"] or Decimal(0),
        rate_cost=None if rate is None else money["rate"],
        at_least=_divided(known, wall * 10**6) if has_bound and known is not None else None,
        billed_part=None
        if rate is not None or is_unknown or not gpu
        else Decimal(int(Fraction(billed_gpu) / Fraction(gpu) * 10**6)).scaleb(-6),
    )
