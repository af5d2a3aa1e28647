"""A game day: a cluster simulated event by event, the records it produces, and the true costs."""

from trainfare.simulate.cluster.faults import Fault, parse_faults
from trainfare.simulate.cluster.gameday import GameDay, simulate_game_day

__all__ = ["Fault", "GameDay", "parse_faults", "simulate_game_day"]
