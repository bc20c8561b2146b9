"""Headless Chromium without a network of its own, for tests and screenshots of the report."""

from __future__ import annotations

import shutil
from typing import Any

MISSING = "needs Chromium and its driver (Debian: chromium, chromium-driver)"


def chromium(dark: bool = False) -> Any:
    """A session that keeps a log of the console and of requests; None where the browser or its driver is missing."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    driver = shutil.which("chromedriver")
    if browser is None or driver is None:
        return None
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = browser
    for argument in (
        "headless=new", "no-sandbox", "disable-gpu", "disable-dev-shm-usage", "incognito", "disable-quic",
        "no-first-run", "disable-background-networking", "disable-component-update", "disable-sync",
        "hide-scrollbars", "force-color-profile=srgb",
    ):  # fmt: skip
        options.add_argument(f"--{argument}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    session = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    if dark:
        scheme = {"features": [{"name": "prefers-color-scheme", "value": "dark"}]}
        session.execute_cdp_cmd("Emulation.setEmulatedMedia", scheme)
    return session


def show(session: Any, place: str) -> None:
    """Go to a place of the report and wait until its chart is there."""
    from selenium.webdriver.support.ui import WebDriverWait

    session.execute_script("location.hash = arguments[0]", place)
    there = "return !document.querySelector('.page.shown .explorer:not([hidden])') || "
    there += "!!document.querySelector('.page.shown .chart').children.length"
    WebDriverWait(session, 20).until(lambda each: each.execute_script(there))
