"""The container file: it runs as nobody in particular, and starts the server as the server is started."""

import json
import re
from pathlib import Path

from kolmogorov.cli.around import serve

TEXT = (Path(__file__).parents[2] / "packaging" / "Dockerfile").read_text(encoding="utf-8")


def test_the_container_is_not_root_and_starts_the_verb_with_options_that_it_has(tmp_path):
    said = dict(re.findall(r"(?m)^(USER|EXPOSE|ENTRYPOINT|CMD) (.*)$", TEXT))
    assert int(said["USER"]) >= 1000
    # The shell gives way to the server, which signals then reach.
    assert json.loads(said["ENTRYPOINT"])[2].endswith('exec kolmogorov serve "$@"')
    (tmp_path / "model.km").touch()
    context = serve.make_context("serve", [str(tmp_path / "model.km"), *json.loads(said["CMD"])[1:]])
    assert (context.params["host"], str(context.params["port"])) == ("0.0.0.0", said["EXPOSE"])
