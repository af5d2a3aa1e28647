"""How long campaigns run: a sample by default, `make soak` multiplies it."""

import os

SCALE = int(os.environ.get("TRAINFARE_SOAK", "1"))
SEED = int(os.environ.get("TRAINFARE_SEED", "20261101"))


def announce(campaign: str, rounds: int) -> None:
    """Print what is needed to repeat a campaign."""
    print(f"{campaign}: {rounds} rounds, TRAINFARE_SOAK={SCALE} TRAINFARE_SEED={SEED}")
