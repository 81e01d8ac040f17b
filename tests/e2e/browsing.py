"""What the tests do with a browser: open it, watch what it complains about, let axe look at a page."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from django.conf import settings
from django.test import Client
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Playwright, Response, ViewportSize

from memoryhub.access.models import Principal

AXE = (Path(__file__).parent / "vendor" / "axe.min.js").read_text(encoding="utf-8")
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
WIDE: ViewportSize = {"width": 1280, "height": 900}
NARROW: ViewportSize = {"width": 390, "height": 844}
PATIENCE = 10_000.0  # milliseconds
# A refusal is a page; Chromium writes every answer of 400 and above into the console all the same.
_REFUSAL = "Failed to load resource: the server responded with a status of 4"
_REPORT_VIOLATIONS = """
    document.addEventListener("securitypolicyviolation", (event) =>
        console.error(`policy violated: ${event.violatedDirective} ${event.blockedURI} ${event.sample}`));
"""
_RUN_AXE = """
    async (tags) => {
        const found = await axe.run(document, {
            runOnly: { type: "tag", values: tags },
            preload: false,  // it would put style sheets into the page, which the policy forbids
        });
        return found.violations.flatMap((rule) =>
            rule.nodes.map((node) => `${rule.id}: ${node.target.join(" ")} ${node.failureSummary}`));
    }
"""


def find_chromium() -> str | None:
    """Return the browser that CHROMIUM names or the system has; None leaves it to Playwright's own."""
    return os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")


def launch_chromium(playwright: Playwright) -> Browser:
    """Start Chromium without a window."""
    return playwright.chromium.launch(executable_path=find_chromium(), args=FLAGS)


@dataclass(slots=True)
class Tab:
    """Hold one page of a browser, and everything that it or the server complained about."""

    page: Page
    complaints: list[str] = field(default_factory=list)

    def watch(self) -> None:
        """Take down violations of the policy, errors of scripts and answers of a broken server."""

        def hear(message: ConsoleMessage) -> None:
            if message.type in {"error", "warning"} and not message.text.startswith(_REFUSAL):
                self.complaints.append(f"{self.page.url}: {message.text}")

        def judge(response: Response) -> None:
            if response.status >= 500:
                self.complaints.append(f"{response.url} was answered {response.status}")

        self.page.add_init_script(_REPORT_VIOLATIONS)
        self.page.on("console", hear)
        self.page.on("pageerror", lambda error: self.complaints.append(f"{self.page.url}: {error}"))
        self.page.on("response", judge)

    def find_barriers(self) -> list[str]:
        """Let axe look at the page as it is; each finding is one line."""
        self.page.evaluate(AXE)
        found: list[str] = self.page.evaluate(_RUN_AXE, RULES)
        return [f"{self.page.url}: {line}" for line in found]

    def measure_overflow(self) -> int:
        """Return by how many pixels the page is wider than its window."""
        return int(self.page.evaluate("document.documentElement.scrollWidth - window.innerWidth"))


def make_session(principal: Principal) -> str:
    """Sign somebody in without the form, and return what their browser would keep."""
    client = Client()
    client.force_login(principal, backend=settings.AUTHENTICATION_BACKENDS[0])
    return client.cookies[settings.SESSION_COOKIE_NAME].value


@contextmanager
def open_context(browser: Browser, *, address: str, has_scripts: bool = True) -> Iterator[BrowserContext]:
    """Open a browser of somebody's own, whose addresses begin at the server."""
    context = browser.new_context(base_url=address, viewport=WIDE, java_script_enabled=has_scripts)
    context.set_default_timeout(PATIENCE)
    try:
        yield context
    finally:
        context.close()


def open_tab(context: BrowserContext, *, address: str, principal: Principal | None = None) -> Tab:
    """Open a watched page, signed in as somebody or as nobody."""
    if principal is not None:
        name = settings.SESSION_COOKIE_NAME
        context.add_cookies([{"name": name, "value": make_session(principal), "url": address}])
    tab = Tab(page=context.new_page())
    tab.watch()
    return tab
