"""What mkdocs does not do: pages from outside, verbs, set-ups, and a site that fetches nothing."""

import html
import inspect
import posixpath
import re
import sys
from pathlib import Path

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "docs"))

from snippets import FENCE, snippets  # noqa: E402

#: Documents of the repository that are pages of the site too.
OUTSIDE = {
    "contributing.md": "CONTRIBUTING.md",
    "changes.md": "CHANGELOG.md",
    "benchmarks.md": "benchmarks/README.md",
}
VERBS = "<!-- verbs -->"
LINK = re.compile(r"(\]\()([^)#:\s]+)((?:#[^)\s]*)?\))")
#: Before the code of a snippet: what its copy button copies, quoted.
COPIED = re.compile(r'<!-- copied: (.*?) -->\s*<div class="highlight">', re.DOTALL)
#: What a browser fetches as soon as it shows a page. Links that wait to be followed may lead anywhere.
FETCHED = re.compile(r"""<(?:script|img|iframe|source|link)\b[^>]*\b(?:src|href)=["']?(https?:)?//[^>]*>""")


def on_files(files, config):
    """Add the documents that live outside docs/."""
    for page, source in OUTSIDE.items():
        files.append(File.generated(config, page, content=(ROOT / source).read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown, page, **_):
    """Lead links that leave docs/ to the pages that stand for their targets, and put the verbs in their place."""
    source = OUTSIDE.get(page.file.src_uri, f"docs/{page.file.src_uri}")
    folder = posixpath.dirname(page.file.src_uri)
    places = {outside: inside for inside, outside in OUTSIDE.items()} | {"README.md": "index.md"}

    def led(match):
        target = posixpath.normpath(posixpath.join(posixpath.dirname(source), match[2]))
        if target in places:
            inside = places[target]
        elif target.startswith("docs/"):
            inside = target.removeprefix("docs/")
        else:
            return match[0]
        return match[1] + posixpath.relpath(inside, folder or ".") + match[3]

    return _with_setups(LINK.sub(led, markdown)).replace(VERBS, _verbs() if VERBS in markdown else "")


def on_page_content(content, **_):
    """Let copy buttons copy a snippet with its set-up, and without the prompts of a shell."""
    return COPIED.sub(lambda found: f'<div class="highlight" data-copy="{found[1]}">', content)


def on_post_build(config):
    """Refuse a site that would fetch something from elsewhere."""
    for path in Path(config.site_dir).rglob("*.html"):
        found = FETCHED.search(path.read_text(encoding="utf-8"))
        if found:
            raise PluginError(f"{path.name} would fetch something: {found[0]}")


def _with_setups(markdown):
    """Fold what a snippet needs above it."""
    found = {snippet.start: snippet for snippet in snippets(markdown)}

    def folded(match):
        snippet = found[match.start()]
        language = "python" if snippet.kind == "python" else "bash"
        lines = [f"<!-- copied: {_quoted(snippet.whole)} -->", "", f"```{language}\n{snippet.text}```"]
        if snippet.setup:
            inside = "\n".join(f"    {line}" for line in f"```{language}\n{snippet.setup.rstrip()}\n```".splitlines())
            lines = ['??? note "Set-up, copied with the code below"', "", inside, "", *lines]
        return "\n".join(lines)

    return FENCE.sub(folded, markdown)


def _quoted(text):
    """Return text for an attribute, in one line, without what would end a comment."""
    return html.escape(text.rstrip("\n")).replace("\n", "&#10;").replace("--", "&#45;&#45;")


def _verbs():
    """Return what the verbs of the command line say of themselves, as Markdown."""
    import click

    from kolmogorov.cli import main

    top = click.Context(main, info_name="kolmogorov")
    return "\n".join(_verb(main.get_command(top, name), top, name) for name in main.list_commands(top))


def _verb(command, parent, name, depth=2):
    import click

    context = click.Context(command, info_name=name, parent=parent)
    usage = command.get_usage(context).removeprefix("Usage: ")
    lines = [f"{'#' * depth} {context.command_path}", "", _prose(command.help), "", f"```text\n{usage}\n```", ""]
    records = [parameter.get_help_record(context) for parameter in command.get_params(context)]
    if rows := [record for record in records if record and record[1] and "--help" not in record[0]]:
        lines += ["| option | |", "|---|---|"]
        lines += [f"| `{names}` | {_cell(about)} |" for names, about in rows]
    below = command.list_commands(context) if isinstance(command, click.Group) else ()
    lines += [_verb(command.get_command(context, each), context, each, depth + 1) for each in below]
    return "\n".join([*lines, ""])


def _prose(text):
    """Return a docstring as click reads it: a paragraph after \\b keeps its lines."""
    shown = []
    for paragraph in inspect.cleandoc(text).split("\n\n"):
        if paragraph.startswith("\b\n"):
            title, _, rest = paragraph.removeprefix("\b\n").partition("\n")
            shown.append(
                f"{title}\n\n```text\n{inspect.cleandoc(rest)}\n```"
                if title.endswith(":")
                else f"```text\n{title}\n{rest}\n```"
            )
        else:
            shown.append(paragraph)
    return "\n\n".join(shown)


def _cell(text):
    """Return text as a cell of a table; brackets would be taken for references."""
    return " ".join(re.sub(r"([|\[])", r"\\\1", text).split())
