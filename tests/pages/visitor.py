"""A browser session that records everything that goes wrong in it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from playwright.sync_api import Browser, ConsoleMessage, Error, Locator, Page, Request

LOG_POLICY_VIOLATIONS = """
document.addEventListener("securitypolicyviolation", (event) => {
  console.error(`CSP: ${event.violatedDirective} ${event.blockedURI}`);
});
"""


@dataclass
class Visitor:
    """`problems` lists console errors, script errors, violations of the content policy and requests to other hosts."""

    site: str
    page: Page
    problems: list[str] = field(default_factory=list)
    expected: tuple[str, ...] = ()

    @classmethod
    @contextmanager
    def start(
        cls, browser: Browser, site: str, width: int = 1280, theme: str = "light", scripts: bool = True
    ) -> Iterator["Visitor"]:
        context = browser.new_context(
            viewport={"width": width, "height": 800},
            color_scheme=theme,  # type: ignore[arg-type]
            java_script_enabled=scripts,
            accept_downloads=True,
        )
        context.set_default_timeout(30_000)
        context.add_init_script(LOG_POLICY_VIOLATIONS)
        visitor = cls(site, context.new_page())
        visitor.page.on("console", visitor._on_console)
        visitor.page.on("pageerror", visitor._on_error)
        visitor.page.on("request", visitor._on_request)
        yield visitor
        context.close()
        assert not visitor.problems, visitor.problems

    def open(self, path: str) -> None:
        """Open a page and wait until its charts are drawn."""
        response = self.page.goto(self.site + path, wait_until="networkidle")
        assert response is not None
        assert response.status < 400, f"{path}: {response.status}"
        self.wait_until_drawn()

    def wait_until_drawn(self) -> None:
        self.page.wait_for_load_state("networkidle")
        if self.page.evaluate("document.documentElement.classList.contains('js')"):
            self.page.wait_for_function(
                "() => document.querySelectorAll('.chart[data-source]:not([data-drawn])').length === 0"
            )

    def follow(self, link: Locator) -> None:
        """Click a link and wait until its page is shown."""
        url = self.page.url
        link.click()
        self.page.wait_for_function("(url) => location.href !== url", arg=url)
        self.page.wait_for_function("() => !document.querySelector('.htmx-request')")
        self.wait_until_drawn()

    def text(self, selector: str) -> str:
        return self.page.locator(selector).first.inner_text().strip()

    def digits(self, selector: str) -> str:
        """All digits of an amount, from its tooltip."""
        return self.page.locator(selector).first.get_attribute("title") or ""

    def _on_console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and not any(part in message.text for part in self.expected):
            self.problems.append(f"console: {message.text}")

    def _on_error(self, error: Error) -> None:
        self.problems.append(f"script: {error}")

    def _on_request(self, request: Request) -> None:
        if not request.url.startswith((self.site, "data:", "blob:")):
            self.problems.append(f"request to another host: {request.url}")
