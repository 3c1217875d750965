"""The container file: it runs as nobody in particular, and starts the server as the server is started."""

import json
from pathlib import Path

import click

from kolmogorov.cli.around import serve as command

LINES = (Path(__file__).parents[2] / "packaging" / "Dockerfile").read_text(encoding="utf-8").splitlines()


def last(word):
    return [line.removeprefix(word).strip() for line in LINES if line.startswith(f"{word} ")][-1]


def test_the_container_does_not_run_as_root():
    assert int(last("USER")) >= 1000


def test_the_container_starts_the_verb_with_options_that_it_has(tmp_path):
    shell, flag, script, _ = json.loads(last("ENTRYPOINT"))
    # The shell gives way to the server, which signals then reach.
    assert (shell, flag) == ("sh", "-c")
    assert script.endswith('exec kolmogorov serve "$@"')
    model, *options = json.loads(last("CMD"))
    assert model.startswith("/models/")
    (tmp_path / "model.km").touch()
    context = click.Context(command)
    command.parse_args(context, [str(tmp_path / "model.km"), *options])
    assert (context.params["host"], str(context.params["port"])) == ("0.0.0.0", last("EXPOSE"))
