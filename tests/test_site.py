"""What docs/hooks.py adds to mkdocs: pages from outside docs/, verbs, and no fetching."""

import html
import importlib.util
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("mkdocs", reason="needs the extra 'docs'")
DOCS = Path(__file__).resolve().parents[1] / "docs"


@pytest.fixture(scope="module")
def hooks():
    spec = importlib.util.spec_from_file_location("site_hooks", DOCS / "hooks.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def led(hooks, page, text):
    return hooks.on_page_markdown(text, SimpleNamespace(file=SimpleNamespace(src_uri=page)))


def test_links_out_of_docs_lead_to_the_pages_that_stand_for_them(hooks):
    assert led(hooks, "solvers.md", "[a](../CONTRIBUTING.md#recipes)") == "[a](contributing.md#recipes)"
    assert led(hooks, "api/index.md", "[a](../../CHANGELOG.md)") == "[a](../changes.md)"
    assert led(hooks, "contributing.md", "[a](docs/rules.md)") == "[a](rules.md)"
    assert led(hooks, "benchmarks.md", "[a](../docs/scale.md)") == "[a](scale.md)"
    assert led(hooks, "rules.md", "[a](model.md#three-kinds-of-psi)") == "[a](model.md#three-kinds-of-psi)"
    assert led(hooks, "rules.md", "[a](https://example.com/b.md)") == "[a](https://example.com/b.md)"


def test_a_snippet_is_copied_with_its_setup(hooks):
    page = "```python\nx = '--'\n```\n\n```python\nprint(x)\n```\n\n```console\n$ kolmogorov demo\n```\n"
    text = led(hooks, "rules.md", page)
    assert "??? note \"Set-up, copied with the code below\"\n\n    ```python\n    x = '--'\n    ```" in text
    assert "```bash\nkolmogorov demo\n```" in text
    built = re.sub(r"```\w+\n", '<div class="highlight"><code>', text)
    copies = re.findall(r'data-copy="([^"]*)"', hooks.on_page_content(built))
    assert [html.unescape(copy) for copy in copies] == ["x = '--'", "x = '--'\nprint(x)", "kolmogorov demo"]


def test_every_verb_and_option_is_in_the_reference(hooks):
    import click

    from kolmogorov.cli import main

    text = led(hooks, "api/commands.md", hooks.VERBS)
    context = click.Context(main)
    for name in main.list_commands(context):
        assert f"## kolmogorov {name}\n" in text
        for parameter in main.get_command(context, name).params:
            if isinstance(parameter, click.Option):
                assert max(parameter.opts, key=len) in text
    assert "kolmogorov fit ratings.csv -o model.km\n" in text
    assert "Sentinel" not in text


@pytest.mark.parametrize(
    "tag",
    [
        '<script src="https://unpkg.com/x"></script>',
        '<link rel="stylesheet" href="//fonts.example/css">',
        "<img src='http://example.com/x.png'>",
    ],
)
def test_a_site_that_fetches_is_refused(hooks, tmp_path, tag):
    page = tmp_path / "page.html"
    page.write_text('<a href="https://example.com">elsewhere</a><script src="assets/own.js"></script>')
    hooks.on_post_build(SimpleNamespace(site_dir=tmp_path))
    page.write_text(tag)
    with pytest.raises(Exception, match="would fetch"):
        hooks.on_post_build(SimpleNamespace(site_dir=tmp_path))
