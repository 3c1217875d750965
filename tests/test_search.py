"""The site's own search leads to the page that answers, and its copy button takes a snippet with its set-up."""

import functools
import http.server
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
ANSWERS = {
    "cold start": "new_users.html",
    "GridSearchCV": "tune.html",
    "implicit": "only_yes.html",
    "missing values": "own_file.html",
}
pytestmark = pytest.mark.long("the site in a browser")


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *words):
        pass


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The address of the site, built and served."""
    pytest.importorskip("mkdocstrings", reason="needs the extra 'docs'")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture
def page(browser):
    found = browser.new_page()
    yield found
    found.close()


@pytest.mark.parametrize("asked", ANSWERS)
def test_the_first_result_is_the_page_that_answers(page, site, asked):
    page.goto(f"{site}/index.html")
    field = page.locator("input[data-md-component=search-query]")
    field.click()
    field.press_sequentially(asked)
    first = page.locator(".md-search-result__item a").first
    first.wait_for(timeout=60_000)
    page.wait_for_function(
        "asked => document.querySelector('.md-search-result__item').innerText.toLowerCase().includes(asked)",
        arg=asked.lower().split()[0],
        timeout=60_000,
    )
    assert first.get_attribute("href").split("/")[-1].split("?")[0].split("#")[0] == ANSWERS[asked]


def test_a_setup_is_folded_and_copied(page, site):
    page.goto(f"{site}/start.html")
    assert page.locator("details.note").count() > 3
    assert page.locator("details.note[open]").count() == 0
    copied = page.locator("[data-copy]").nth(1).get_attribute("data-copy")
    assert copied.startswith("import kolmogorov as km\n")
    assert copied.endswith('print(f"{event.share:.0%}", ", ".join(event.users))')
