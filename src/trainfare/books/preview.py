"""Preview rules: what each of them would match, without publishing anything."""

import tempfile
from pathlib import Path
from typing import Any

from trainfare.allocate import account
from trainfare.books import intake
from trainfare.books.context import BuildContext, Progress, no_progress
from trainfare.books.inputs import load_charges, no_charges
from trainfare.books.month import normalize_month
from trainfare.engine.duckdb import DuckDB
from trainfare.engine.sql import step_text
from trainfare.normalize.amortization import ledgers
from trainfare.period import Month
from trainfare.settings.config import Config


def preview_rules(
    config: Config, engine: DuckDB, only: Month | None, progress: Progress = no_progress
) -> tuple[Month, list[dict[str, Any]]]:
    """Return what each rule would match in a month, by default the newest one."""
    context = BuildContext(engine, config, ledgers.last_full_hour(), progress)
    with tempfile.TemporaryDirectory(prefix="trainfare-") as folder:
        delivered = intake.into_folder(engine, config, Path(folder), progress)
        charges = load_charges(context, delivered)
        if not charges.months or (only and only not in charges.months):
            raise no_charges(only, charges.months)
        month = only or charges.months[-1]
        normalize_month(context, charges, month, charges.relevant(engine, delivered, month))
        account.route(engine, config, month)
        return month, engine.records(step_text("trainfare.measures", "charges_by_rule"))
