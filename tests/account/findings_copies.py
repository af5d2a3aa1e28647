"""F5 from the input rows alone: what is delivered, billed or logged twice."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from itertools import pairwise

from .findings_records import DAY, Amounts, Hold, Line, Paid, Records


def _exported(records: Records) -> dict[tuple[str, str, int], dict[str, Counter[Line]]]:
    """Return the lines of each account, currency and day by file, without the file's name."""
    found: dict[tuple[str, str, int], dict[str, Counter[Line]]] = defaultdict(lambda: defaultdict(Counter))
    for line in records.lines:
        bare = Line(**{**line.__dict__, "file": ""})
        found[line.account, line.currency, line.period[0] // DAY][line.file][bare] += 1
    return found


def _copied_days(records: Records) -> dict[tuple[str, str, int], list[str]]:
    """Return the files, but the first, that have exactly the lines of another file for a day of an account."""
    copies = {}
    for key, files in _exported(records).items():
        names = sorted(files)
        again = [name for index, name in enumerate(names) if any(files[name] == files[n] for n in names[:index])]
        if again:
            copies[key] = again
    return copies


def repeated_exports(records: Records) -> Amounts:
    """F5: the lines of a day that another file has too."""
    copies = _copied_days(records)
    for line in records.lines:
        if line.file in copies.get((line.account, line.currency, line.period[0] // DAY), ()):
            yield line.currency, line.units


def machines_on_two_bills(records: Records) -> Amounts:
    """F5: what all but the most expensive bill charge for the time that several bills charge a machine for."""
    copies, machines = _copied_days(records), {machine.name for machine in records.machines}
    bills: dict[str, dict[str, list[Line]]] = defaultdict(lambda: defaultdict(list))
    for line in records.lines:
        is_copy = line.file in copies.get((line.account, line.currency, line.period[0] // DAY), ())
        if line.category == "compute" and line.resource in machines and not is_copy:
            bills[line.resource][line.file].append(line)
    for by_file in bills.values():
        shared = []
        for file, lines in by_file.items():
            others = [line.period for name in by_file if name != file for line in by_file[name]]
            units = sum(line.units * _covered(line.period, others) // line.seconds for line in lines)
            if units > 0:
                shared.append((units, lines[0].currency))
        for units, currency in sorted(shared)[:-1]:
            yield currency, units


def _covered(span: tuple[int, int], others: Iterable[tuple[int, int]]) -> int:
    """Return how many seconds of the span any of the others covers."""
    inside = [(max(start, span[0]), min(end, span[1])) for start, end in others if start < span[1] and end > span[0]]
    cuts = sorted({moment for one in inside for moment in one})
    return sum(b - a for a, b in pairwise(cuts) if any(start <= a and b <= end for start, end in inside))


def repeated_runs(records: Records, paid: Iterable[Paid]) -> Amounts:
    """F5: runs of two logs with one machine, time and amount, while more of the machine is held than it has."""
    size = {machine.name: machine.gpu_micros for machine in records.machines}
    like: dict[tuple[object, ...], dict[str, list[Hold]]] = defaultdict(lambda: defaultdict(list))
    for hold in records.holds:
        like[hold.machine, hold.span, hold.gpu_micros][hold.log].append(hold)
    copies = set()
    for logs in like.values():
        if len(logs) > 1:
            one = next(iter(logs.values()))[0]
            beside = [h for h in records.holds if h.machine == one.machine and _covered(one.span, [h.span])]
            moments = {max(one.span[0], h.span[0]) for h in beside}
            held = (sum(h.gpu_micros for h in beside if h.span[0] <= at < h.span[1]) for at in moments)
            if max(held) > size[one.machine]:
                ordered = [sorted(holds, key=lambda h: (h.job, h.attempt)) for holds in logs.values()]
                for number in range(max(map(len, ordered))):
                    same = sorted(
                        f"{holds[number].job}#{holds[number].attempt}" for holds in ordered if number < len(holds)
                    )
                    copies |= set(same[1:])
    return [(one.currency, one.units) for one in paid if one.payer in copies]
