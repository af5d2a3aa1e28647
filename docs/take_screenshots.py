"""Take the screenshots of the README: build the demo, serve it, and save pages as PNG files in docs/images."""

import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import urlopen

from playwright.sync_api import Page, sync_playwright

IMAGES = Path(__file__).parent / "images"
CHROMIUM = "/usr/bin/chromium"
WIDTH = 1280
SCREENSHOTS = {
    "overview": ("/", 732),
    "job": ("/jobs/nlp-00002", 1000),
    "cost-trace": ("/cost-trace/job?job=nlp-00002", 804),
}
"""The path and the height of each screenshot."""
MAX_BYTES = 250_000
STARTUP_SECONDS = 120


def main() -> None:
    IMAGES.mkdir(exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as folder,
        demo_site(Path(folder) / "demo") as url,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": WIDTH, "height": 800}, color_scheme="light")
        for name, (path, height) in SCREENSHOTS.items():
            page.set_viewport_size({"width": WIDTH, "height": height})
            size = take(page, f"{url}{path}", IMAGES / f"{name}.png")
            print(f"docs/images/{name}.png: {size / 1000:.0f} kB")
        browser.close()


def take(page: Page, url: str, file: Path) -> int:
    """Save what is visible of a page once its charts are drawn, and return the size of the file."""
    page.goto(url, wait_until="networkidle", timeout=STARTUP_SECONDS * 1000)
    page.wait_for_function("() => document.querySelectorAll('.chart[data-source]:not([data-drawn])').length === 0")
    page.screenshot(path=file)
    size = file.stat().st_size
    if size > MAX_BYTES:
        raise SystemExit(f"{file}: {size} bytes, more than {MAX_BYTES}. Use a smaller height.")
    return size


@contextmanager
def demo_site(folder: Path) -> Iterator[str]:
    """Build the demo of three months and serve it on a free port."""
    trainfare = [sys.executable, "-m", "trainfare"]
    subprocess.run([*trainfare, "demo", "--folder", str(folder), "--months", "3"], check=True, capture_output=True)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [*trainfare, "serve", "-w", str(folder), "--port", str(port)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_until_ready(f"http://127.0.0.1:{port}/readyz")
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait()


def wait_until_ready(url: str) -> None:
    deadline = time.monotonic() + STARTUP_SECONDS
    while True:
        try:
            with urlopen(url, timeout=STARTUP_SECONDS):
                return
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.5)


if __name__ == "__main__":
    main()
