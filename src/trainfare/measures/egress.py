"""What the network traffic of attempts cost, per pair of regions."""

from trainfare.engine.protocol import Engine
from trainfare.store.splits import Split, amounts
from trainfare.tables import BASES

_SPLIT = Split(
    pot=("attempt_key", "day", "currency"),
    order=("from_region", "to_region"),
    keep=("attempt_key", "day", "currency", "from_region", "to_region"),
    amounts=amounts(BASES),
)


def run(engine: Engine) -> None:
    """Make `egress_costs` from the stored shares and the measured bytes."""
    engine.step("trainfare.measures", "egress_costs", "egress_costs", {"split": _SPLIT.select("weighted")})
