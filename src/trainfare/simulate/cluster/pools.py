"""The pools of the simulated cluster and the prices of their machines.

Prices are whole units of 10^-12 per GPU second. The cost of what a job held is therefore an integer, and the truth
needs no rounding: it is what a meter on every GPU would have shown.
"""

from dataclasses import dataclass

from trainfare.simulate.fleet import EU, P4D, P5, TRAINING_EU, TRAINING_US, US, MachineType

RESERVED, ON_DEMAND, SPOT = "reserved", "on_demand", "spot"
DISK_PRICE = 15_000_000
"""A machine's disk, per GPU second of the machine's existence."""


@dataclass(frozen=True)
class Pool:
    """A group of identical machines. `part` is its percentage of the cluster's machines, `busy` the demand for them."""

    name: str
    kind: MachineType
    region: str
    account: str
    market: str
    part: int
    busy: int
    list_price: int
    price: int
    teams: tuple[str, ...]

    @property
    def bill(self) -> str:
        return "eu" if self.region == EU else "us"

    @property
    def cluster(self) -> str:
        return f"train-{self.bill}"


P5_LIST, P4D_LIST = 1_911_111_100, 762_416_700
POOLS = (
    Pool("h100", P5, US, TRAINING_US, RESERVED, 25, 80, P5_LIST, 1_184_888_900, ("nlp", "nlp", "nlp", "vision")),
    Pool("a100-us", P4D, US, TRAINING_US, ON_DEMAND, 20, 55, P4D_LIST, 670_926_600, ("nlp", "vision")),
    Pool("a100-us-spot", P4D, US, TRAINING_US, SPOT, 20, 55, P4D_LIST, 430_000_000, ("vision", "speech")),
    Pool("a100-eu", P4D, EU, TRAINING_EU, ON_DEMAND, 15, 55, 823_400_000, 724_600_000, ("speech", "vision")),
    Pool("a100-eu-spot", P4D, EU, TRAINING_EU, SPOT, 20, 55, 823_400_000, 460_000_000, ("speech", "vision")),
)


def pool_capacity(pool: Pool, machines: int) -> int:
    """Return how many machines the pool may have at once."""
    return max(4, machines * pool.part // 100)
