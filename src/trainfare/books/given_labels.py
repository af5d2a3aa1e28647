"""Which of the labels that people gave to jobs concern a month."""

from collections.abc import Sequence
from dataclasses import replace

import msgspec

from trainfare.books.context import BuildContext
from trainfare.job_ids import native_id
from trainfare.normalize import relevance
from trainfare.settings.config import GivenLabel
from trainfare.sources.deliveries import DeliveredFile
from trainfare.store import Store


def current(store: Store) -> tuple[GivenLabel, ...]:
    """Return the labels that count now, in an order of their own."""
    given = sorted(
        (one.job_id, one.attempt or 0, one.key, one.value or "") for one in store.catalog.label_overrides.current()
    )
    return tuple(GivenLabel(job, attempt or None, key, value) for job, attempt, key, value in given)


def of_month(context: BuildContext, store: Store, files: Sequence[DeliveredFile]) -> BuildContext:
    """Return the context with the labels that were given to jobs in the job logs among `files`.

    A book stores them with its settings, so that labels of other months' jobs cause no new version.
    """
    given = current(store)
    if not given:
        return context
    logs = [file for file in files if file.is_job_log]
    selects = relevance.job_id_selects(context.engine, logs, context.config.source_names)
    known = {job for select in selects for (job,) in context.reader.rows(select)}
    labels = tuple(one for one in given if {one.job, native_id(one.job)} & known)
    return replace(context, config=msgspec.structs.replace(context.config, given_labels=labels))
