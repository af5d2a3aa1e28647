"""The door: every request passes it, and leaves it with a viewer or not at all."""

import getpass

from litestar.connection import ASGIConnection
from litestar.middleware import AbstractAuthenticationMiddleware, AuthenticationResult

from trainfare.web.viewer import Viewer


class Door(AbstractAuthenticationMiddleware):
    """Says who asks. Without sign-in, on loopback only, everybody who reaches us is the person at this machine."""

    async def authenticate_request(self, connection: ASGIConnection) -> AuthenticationResult:  # type: ignore[type-arg]
        return AuthenticationResult(user=Viewer(getpass.getuser(), "admin"), auth=None)
