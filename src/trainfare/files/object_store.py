"""The object store client, based on s3fs."""

from typing import Any

import s3fs

from trainfare.files.locations import BUILD_ID

CONNECT_SECONDS = 10


class ObjectStore(s3fs.S3FileSystem):  # type: ignore[misc]  # s3fs is untyped
    """Caches metadata of objects that are written once, and of no others: other processes write to the store too.

    The engine asks for the size and type of a file whenever a query names it, and each request is a network round trip.
    """

    cachable = False

    def __init__(self) -> None:
        limits = {"connect_timeout": CONNECT_SECONDS, "retries": {"max_attempts": 2}}
        super().__init__(use_listings_cache=False, config_kwargs=limits)
        self._cached: dict[str, Any] = {}

    async def _info(self, path: str, *args: Any, **named: Any) -> Any:
        if not BUILD_ID.search(path):
            return await super()._info(path, *args, **named)
        name = self._strip_protocol(path)
        if name not in self._cached:
            self._cached[name] = await super()._info(path, *args, **named)
        return self._cached[name]
