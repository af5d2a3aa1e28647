"""Connections: a request must arrive within some seconds, and a response must be read.

The server itself limits only the time between two requests. A client that sends half of a request, or does not read,
would keep its connection forever.
"""

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

REQUEST_SECONDS = 10
"""From the first byte of a request (or the connection) to the last byte of its body."""
READ_SECONDS = 30
"""How long a client may read nothing while a response is sent."""
FINISH_SECONDS = 3
"""How long a response may take after the signal to stop."""
_INCOMPLETE = (h11.IDLE, h11.SEND_BODY)


class TimedProtocol(H11Protocol):
    """HTTP/1.1 with time limits for both directions."""

    _receiving: asyncio.TimerHandle | None = None
    _sending: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._receiving = self.loop.call_later(REQUEST_SECONDS, self._not_received)

    def connection_lost(self, exc: Exception | None) -> None:
        for timer in (self._receiving, self._sending):
            if timer:
                timer.cancel()
        super().connection_lost(exc)

    def handle_events(self) -> None:
        """Process what was received. Called with new data, and for a request that arrived before its turn."""
        super().handle_events()
        is_incomplete = self.conn.their_state in _INCOMPLETE and (
            self.conn.their_state is h11.SEND_BODY or bool(self.conn.trailing_data[0])
        )
        if not is_incomplete and self._receiving:
            self._receiving.cancel()
            self._receiving = None
        elif is_incomplete and self._receiving is None and not self.transport.is_closing():
            self._receiving = self.loop.call_later(REQUEST_SECONDS, self._not_received)

    def shutdown(self) -> None:
        """The service stops: let a response be finished within a moment, then end its connection, and so its query."""
        super().shutdown()
        self.loop.call_later(FINISH_SECONDS, self.transport.close)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._sending = self.loop.call_later(READ_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._sending:
            self._sending.cancel()
            self._sending = None

    def _not_received(self) -> None:
        """End a connection whose request did not arrive in time."""
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE) and self.conn.their_state is h11.IDLE:
            self.transport.write(b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n")
        self.transport.close()
