"""Every collector there is."""

from trainfare.collect import kubernetes, slurm
from trainfare.collect.protocol import Collector
from trainfare.errors import Problems
from trainfare.settings.config import Config
from trainfare.settings.messages import check_known

COLLECTORS: tuple[Collector, ...] = (kubernetes, slurm)


def by_system(system: str) -> Collector:
    """Return the collector for a system that `require_known` accepted."""
    return next(one for one in COLLECTORS if system == one.SYSTEM)


def require_known(config: Config) -> None:
    """Reject settings that name a system or an option that no collector knows, with all problems at once."""
    problems = Problems()
    systems = {one.SYSTEM: one for one in COLLECTORS}
    for number, one in enumerate(config.collector, 1):
        where = f"{config.where} [[collector]] #{number}"
        if one.system not in systems:
            do = f"Use one of {', '.join(sorted(systems))}."
            problems.add(f"{where} system", f"'{one.system}' is not a system that can be collected from", do)
            continue
        for option in one.options:
            check_known(option, systems[one.system].OPTIONS, f"{where} options", problems)
    problems.raise_if_any()
