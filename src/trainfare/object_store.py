"""The object store, spoken to by s3fs."""

from typing import Any

import s3fs

from trainfare.places import BUILD_ID

CONNECT_SECONDS = 10


class ObjectStore(s3fs.S3FileSystem):  # type: ignore[misc]  # it has no types
    """Remembers what it was told of objects that are written once, and nothing else: others write there, too.

    The engine asks for size and kind of a file whenever a query names it, and each question takes as long as the network does.
    """

    cachable = False

    def __init__(self) -> None:
        limits = {"connect_timeout": CONNECT_SECONDS, "retries": {"max_attempts": 2}}
        super().__init__(use_listings_cache=False, config_kwargs=limits)
        self._known: dict[str, Any] = {}

    async def _info(self, path: str, *args: Any, **named: Any) -> Any:
        if not BUILD_ID.search(path):
            return await super()._info(path, *args, **named)
        name = self._strip_protocol(path)
        if name not in self._known:
            self._known[name] = await super()._info(path, *args, **named)
        return self._known[name]
