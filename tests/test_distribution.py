"""What is built can be installed elsewhere and works there: wheel, source distribution, extras.

Tests marked `dist` install with all dependencies from an index into empty environments, in minutes: `make dist`.
"""

import csv
import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

from kolmogorov import __version__

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "kolmogorov"


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    """The files that are to be uploaded: those of KOLMOGOROV_DIST, or built here."""
    folder = Path(os.environ.get("KOLMOGOROV_DIST") or tmp_path_factory.mktemp("dist")).resolve()
    if "KOLMOGOROV_DIST" not in os.environ:
        pytest.importorskip("hatchling")
        call(sys.executable, "-m", "hatchling", "build", "--directory", folder, cwd=ROOT)
    (wheel,), (source,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return {"wheel": wheel, "source": source}


def call(*command, **options):
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment |= options.pop("env", {})
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True, env=environment, check=False, **options)
    assert done.returncode == 0, f"{' '.join(words)}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
    return done.stdout


def tracked(folder):
    """Return the package's files, without what Python and numba keep beside them."""
    return {
        path.relative_to(folder.parent).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


@pytest.mark.long("the wheel")
def test_the_wheel_holds_the_package_and_nothing_else(built):
    name = f"kolmogorov-{__version__}"
    assert built["wheel"].name == f"{name}-py3-none-any.whl"
    with zipfile.ZipFile(built["wheel"]) as archive:
        names = set(archive.namelist())
        metadata = archive.read(f"{name}.dist-info/METADATA").decode()
    assert {n for n in names if not n.startswith(f"{name}.dist-info/")} == tracked(PACKAGE)
    assert not [n for n in names if n.startswith("reproduce")]
    assert f"{name}.dist-info/licenses/LICENSE" in names
    assert f"\nVersion: {__version__}\n" in metadata
    assert "kolmogorov/py.typed" in names


@pytest.mark.long("the wheel")
def test_the_source_distribution_can_be_built_and_tested(built):
    name = f"kolmogorov-{__version__}"
    with tarfile.open(built["source"]) as archive:
        names = {path.removeprefix(f"{name}/") for path in archive.getnames()}
    assert {f"src/{path}" for path in tracked(PACKAGE)} <= names
    for path in (
        "pyproject.toml",
        "README.md",
        "LICENSE",
        "Makefile",
        "CHANGELOG.md",
        "tests/naive.py",
        "reproduce/table_4.py",
        "reproduce/results/table_4.csv",
        "docs/model.md",
        "packaging/conda/meta.yaml",
    ):
        assert path in names
    assert not [path for path in names if path.startswith("docs/") and path.endswith(".png")]
    assert not [path for path in names if re.search(r"__pycache__|\.nb[ci]$|\.venv|\.git/", path)]


def recipe():
    """Return the recipe for conda as conda-build would read it, by its functions that read files."""
    jinja2, yaml = pytest.importorskip("jinja2"), pytest.importorskip("yaml")
    folder = ROOT / "packaging" / "conda"

    def load_file_data(name, *, from_recipe_dir):
        return tomllib.loads((folder / name).read_text(encoding="utf-8"))

    def load_file_regex(name, pattern, *, from_recipe_dir):
        return re.search(pattern, (folder / name).read_text(encoding="utf-8"))

    template = jinja2.Template((folder / "meta.yaml").read_text(encoding="utf-8"))
    text = template.render(load_file_data=load_file_data, load_file_regex=load_file_regex, PYTHON="python")
    return yaml.safe_load(text)


def test_the_recipe_for_conda_is_that_of_the_package():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    made = recipe()
    assert made["package"] == {"name": "kolmogorov", "version": __version__}
    assert made["source"]["url"] == f"../../dist/kolmogorov-{__version__}.tar.gz"
    assert made["build"]["entry_points"] == ["kolmogorov = kolmogorov.cli:main"]
    wanted = [f"python {project['requires-python']}", *project["dependencies"]]
    assert [line.replace(" ", "") for line in made["requirements"]["run"]] == [line.replace(" ", "") for line in wanted]
    assert made["about"]["home"] == project["urls"]["Homepage"]


def test_all_is_everything_that_the_library_can_do():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    (everything,) = extras["all"]
    assert set(re.search(r"\[(.*)\]", everything)[1].split(",")) == set(extras) - {"all", "docs", "bench"}


def test_the_change_log_begins_with_this_version():
    titles = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert titles[0] in (__version__, "Unreleased")
    assert __version__ in titles


def environment(folder):
    """Make an environment; return its scripts' folder."""
    venv.create(folder, with_pip=True)
    return folder / ("Scripts" if os.name == "nt" else "bin")


@pytest.mark.long("the wheel")
def test_the_wheel_works_without_its_sources(built, tmp_path):
    """Dependencies are borrowed from the environment of the tests, and nothing is compiled, for the sake of time."""
    scripts = environment(tmp_path / "venv")
    call(scripts / "python", "-m", "pip", "install", "--no-deps", "--no-index", built["wheel"])
    site = call(scripts / "python", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip()
    # What .pth files there say is not followed, so that an editable installation stays out of sight.
    Path(site, "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    (tmp_path / "elsewhere").mkdir()
    use(
        scripts,
        tmp_path / "elsewhere",
        "--point",
        "--learn-from",
        "ratings",
        "--set",
        "max_iter=2",
        env={"NUMBA_DISABLE_JIT": "1"},
    )
    code = "import kolmogorov; print(kolmogorov.__file__)"
    assert Path(call(scripts / "python", "-c", code).strip()).is_relative_to(tmp_path)


def use(scripts, folder, *settings, **options):
    """Go the way of a newcomer, on bundled data."""

    def run(*words):
        return call(scripts / "kolmogorov", *words, cwd=folder, **options)

    assert __version__ in run("--version")
    run("data", "export", "zoo", "-o", "zoo.csv")
    run("fit", "zoo.csv", "--n-events", 3, *settings, "-q", "-o", "zoo.km")
    run("predict", "zoo.km", "zoo.csv", "-o", "out.csv")
    with Path(folder, "out.csv").open(encoding="utf-8") as file:
        assert len(list(csv.DictReader(file))) == 101 * 15
    assert "milk" in run("explain", "zoo.km", "dolphin", "milk")


@pytest.fixture(scope="session")
def index():
    """An index of packages can be reached."""
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--dry-run",
        "--quiet",
        "--ignore-installed",
        "--no-deps",
        "click",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"no index of packages can be reached: {done.stderr.strip().splitlines()[-1]}")


@pytest.mark.dist
@pytest.mark.parametrize("kind", ["wheel", "source"])
def test_an_empty_environment(kind, built, index, tmp_path):
    scripts = environment(tmp_path / "venv")
    call(scripts / "python", "-m", "pip", "install", built[kind])
    assert "No broken requirements" in call(scripts / "python", "-m", "pip", "check")
    use(scripts, tmp_path)
    assert "Austria" in call(scripts / "kolmogorov", "demo", cwd=tmp_path)


@pytest.mark.dist
def test_all_extras_resolve_together(built, index, tmp_path):
    scripts = environment(tmp_path / "venv")
    said = call(scripts / "python", "-m", "pip", "install", "--dry-run", f"{built['wheel']}[all]")
    would = re.search(r"^Would install (.*)$", said, re.MULTILINE)[1]
    for package in ("kolmogorov", "pandas", "polars", "pyarrow", "clarabel", "dimod", "matplotlib", "Jinja2", "dask"):
        assert re.search(rf"\b{package}-", would, re.IGNORECASE), package
