"""The sizes of known instance types, as data: what is listed, and where and when each size was found.

An accelerator that is no GPU (Trainium, Inferentia) counts as one. Rows without a source come from before sources were
recorded.
"""

import csv
from importlib import resources

from trainfare.engine.protocol import Engine

_COLUMNS = {
    "instance_type": "VARCHAR",
    "gpus": "DECIMAL(18,6)",
    "gpu_model": "VARCHAR",
    "cpus": "DECIMAL(18,3)",
    "memory_gb": "DECIMAL(18,3)",
}


def load(engine: Engine) -> None:
    """Make `instance_types`; what the data leaves empty is unknown."""
    text = resources.files("trainfare.normalize").joinpath("instance_types.csv").read_text(encoding="utf-8")
    rows = [[row[name] or None for name in _COLUMNS] for row in csv.DictReader(text.splitlines())]
    engine.values("instance_types", ", ".join(f"{name} {type_}" for name, type_ in _COLUMNS.items()), rows)
