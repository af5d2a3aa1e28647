"""The machines of the simulated company and the time each of them existed."""

from dataclasses import dataclass
from random import Random

from trainfare.period import Month
from trainfare.simulate.clock import DAY, HOUR, Span, span_of, weekend

TRAINING_US, TRAINING_EU, SHOP = "123456789012", "210987654321", "345678901234"
OWNED = "acme-basement"
US, EU, BASEMENT = "us-east-1", "eu-west-1", "basement"

# The simulation starts before the month and ends after it, so that some attempts cross its boundaries.
LEAD_IN, LEAD_OUT = 30 * HOUR, 20 * HOUR


@dataclass(frozen=True)
class MachineType:
    """A machine type. `disk_gb` is the network disk that is billed with a cloud machine."""

    name: str
    gpus: int
    gpu_model: str
    cpus: int
    memory_gb: int
    disk_gb: int


P5 = MachineType("p5.48xlarge", 8, "NVIDIA H100 80GB", 192, 2048, 8000)
P4D = MachineType("p4d.24xlarge", 8, "NVIDIA A100 40GB", 96, 1152, 4000)
G5 = MachineType("g5.12xlarge", 4, "NVIDIA A10G", 48, 192, 1000)
SERVER = MachineType("acme-hgx-a100", 8, "NVIDIA A100 80GB", 128, 1024, 0)


@dataclass(frozen=True)
class Pool:
    """A group of identical machines: how many are up at once, and how long each lives."""

    name: str
    kind: MachineType
    region: str
    account: str
    cluster: str
    team: str
    size: int
    life_hours: float
    gap_minutes: float
    spot: bool


H100 = Pool("h100", P5, US, TRAINING_US, "train-us", "nlp", 10, 220, 240, False)
POOLS = (
    H100,
    Pool("a100-spot-us", P4D, US, TRAINING_US, "train-us", "vision", 8, 60, 25, True),
    Pool("a100-spot-eu", P4D, EU, TRAINING_EU, "train-eu", "vision", 4, 50, 25, True),
    Pool("a10g-spot-eu", G5, EU, TRAINING_EU, "train-eu", "speech", 4, 75, 20, True),
)
SERVERS = Pool("owned-a100", SERVER, BASEMENT, OWNED, BASEMENT, "speech", 6, 0, 0, False)


@dataclass(frozen=True)
class Machine:
    machine_id: str
    resource_id: str
    pool: Pool
    existed: Span
    """Half-open; `NO_END` as the end of a machine that still exists."""

    @property
    def kind(self) -> MachineType:
        return self.pool.kind


NO_END = 2**40


def horizon(month: Month) -> Span:
    """Return the simulated time: the month and some hours on both sides."""
    start, end = span_of(month)
    return start - LEAD_IN, end + LEAD_OUT


def launch(rng: Random, pool: Pool, existed: Span) -> Machine:
    """Create a cloud machine with a new instance id."""
    machine_id = f"i-0{rng.getrandbits(64):016x}"
    return Machine(machine_id, f"arn:aws:ec2:{pool.region}:{pool.account}:instance/{machine_id}", pool, existed)


def cloud_machines(rng: Random, pool: Pool, month: Month, scale: float) -> list[Machine]:
    """Keep the pool at its target size while there is demand: each machine that goes away is replaced."""
    size = max(1, round(pool.size * scale))
    machines = []
    for index in range(size):
        for window in _demand_windows(pool, index / size, month):
            moment = window[0] + rng.randint(0, HOUR)
            while moment < window[1]:
                end = min(moment + 2 * HOUR + int(rng.expovariate(1 / (pool.life_hours * HOUR))), window[1])
                machines.append(launch(rng, pool, (moment, NO_END if end == horizon(month)[1] else end)))
                moment = end + 60 + int(rng.expovariate(1 / (pool.gap_minutes * 60)))
    return machines


def _demand_windows(pool: Pool, position: float, month: Month) -> list[Span]:
    """Return when a machine is in demand. Half of the on-demand ones start in the first days and pause one weekend."""
    start, end = horizon(month)
    if pool.spot or position < 0.5:
        return [(start, end)]
    saturday, monday = weekend(month, 4)
    return [(start + LEAD_IN + int(position * 48) * HOUR, saturday), (monday + 6 * HOUR, end)]


def owned_servers(month: Month, scale: float) -> list[Machine]:
    """Return the owned cluster: years old, except for its last machine, added on the ninth of this month."""
    start, _ = span_of(month)
    count = max(2, round(SERVERS.size * scale))
    machines = []
    for number in range(1, count + 1):
        name = f"own-gpu-{number:02d}"
        since = start + 8 * DAY + 10 * HOUR if number == count else start - 900 * DAY
        machines.append(Machine(name, f"acme:{BASEMENT}:server/{name}", SERVERS, (since, NO_END)))
    return machines
