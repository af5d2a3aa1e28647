"""A game day: a cluster that is simulated event by event, the records it leaves, and the truth behind them."""

from trainfare.simulate.cluster.faults import Fault, parse
from trainfare.simulate.cluster.gameday import Played, play

__all__ = ["Fault", "Played", "parse", "play"]
