"""Somebody who looks at the pages, and notices everything that goes wrong in the browser."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from playwright.sync_api import Browser, ConsoleMessage, Error, Locator, Page, Request

WATCH = "document.addEventListener('securitypolicyviolation', (e) => console.error('CSP: ' + e.violatedDirective + ' ' + e.blockedURI))"


@dataclass
class Visitor:
    """`wrong` lists console errors, faults of scripts, violations of the content policy and requests that leave the host."""

    site: str
    page: Page
    wrong: list[str] = field(default_factory=list)
    expected: tuple[str, ...] = ()

    @classmethod
    @contextmanager
    def arriving(
        cls, browser: Browser, site: str, width: int = 1280, theme: str = "light", scripts: bool = True
    ) -> Iterator["Visitor"]:
        context = browser.new_context(
            viewport={"width": width, "height": 800},
            color_scheme=theme,  # type: ignore[arg-type]
            java_script_enabled=scripts,
            accept_downloads=True,
        )
        context.set_default_timeout(30_000)
        context.add_init_script(WATCH)
        made = cls(site, context.new_page())
        made.page.on("console", made._heard)
        made.page.on("pageerror", made._failed)
        made.page.on("request", made._asked)
        yield made
        context.close()
        assert not made.wrong, made.wrong

    def opens(self, path: str) -> None:
        """Go somewhere, and wait until charts are drawn."""
        answer = self.page.goto(self.site + path, wait_until="networkidle")
        assert answer is not None
        assert answer.status < 400, f"{path}: {answer.status}"
        self.settles()

    def settles(self) -> None:
        self.page.wait_for_load_state("networkidle")
        if self.page.evaluate("document.documentElement.classList.contains('js')"):
            self.page.wait_for_function(
                "() => document.querySelectorAll('.chart[data-of]:not([data-drawn])').length === 0"
            )

    def follows(self, link: Locator) -> None:
        """Click a link and wait until what it leads to is there."""
        before = self.page.url
        link.click()
        self.page.wait_for_function("(url) => location.href !== url", arg=before)
        self.page.wait_for_function("() => !document.querySelector('.htmx-request')")
        self.settles()

    def text(self, selector: str) -> str:
        return self.page.locator(selector).first.inner_text().strip()

    def digits(self, selector: str) -> str:
        """All digits of a figure: they stand in its title."""
        return self.page.locator(selector).first.get_attribute("title") or ""

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and not any(part in message.text for part in self.expected):
            self.wrong.append(f"console: {message.text}")

    def _failed(self, error: Error) -> None:
        self.wrong.append(f"script: {error}")

    def _asked(self, request: Request) -> None:
        if not request.url.startswith((self.site, "data:", "blob:")):
            self.wrong.append(f"left the host: {request.url}")
