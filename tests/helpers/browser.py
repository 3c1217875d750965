"""A browser for the report's tests and pictures: one of the system, or playwright's own; and how to wait for a page.

`python tests/helpers/browser.py` tries to get playwright's where there is none, and says in a line how it went.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
REMEDY = "apt-get install chromium (or: playwright install --with-deps chromium)"
QUIET = ("--disable-gpu", "--disable-background-networking", "--no-first-run", "--disable-component-update")


def system_browser():
    """The path of a browser that the system has, or None."""
    return next(filter(None, map(shutil.which, NAMES)), None)


def own_browser():
    """Whether playwright has brought a browser of its own."""
    folders = {
        "linux": Path.home() / ".cache" / "ms-playwright",
        "darwin": Path.home() / "Library" / "Caches" / "ms-playwright",
        "win32": Path.home() / "AppData" / "Local" / "ms-playwright",
    }
    folder = Path(os.environ.get("PLAYWRIGHT_BROWSERS_PATH") or folders.get(sys.platform, folders["linux"]))
    return any((mark.parent / "INSTALLATION_COMPLETE").exists() for mark in folder.glob("chromium*/*"))


def available():
    """Whether there is any."""
    return system_browser() is not None or own_browser()


def launched(driver):
    """Start it; chromium refuses its sandbox to root, as whom containers run."""
    sandbox = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    return driver.chromium.launch(executable_path=system_browser(), args=[*QUIET, *sandbox])


#: Milliseconds after which what a test waits for is taken to never come; a busy machine is to stay far below.
PATIENCE = 90_000


def main():
    if available():
        return
    command = [sys.executable, "-m", "playwright", "install", "chromium"]
    try:
        done = subprocess.run(command, capture_output=True, timeout=180, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        done = False
    print("playwright's chromium is installed" if done else f"no browser could be had; its tests will skip: {REMEDY}")


if __name__ == "__main__":
    main()
