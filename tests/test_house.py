"""How large and how named the parts of the library may be; read from its sources, nothing is imported."""

import ast
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "src" / "kolmogorov"
MOST_LINES, MOST_MODULES, LONGEST_FUNCTION, MOST_PARAMETERS = 350, 12, 60, 8
#: Rooms that hold one file for each thing of a long list.
LONG_LISTS = ("kernels", "cli/verbs")
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True)
class Module:
    """One source file: what it defines, and where the names that it imports come from."""

    path: Path
    text: str

    @property
    def place(self):
        return self.path.relative_to(SOURCES).as_posix()

    @property
    def name(self):
        parts = ("kolmogorov", *self.path.relative_to(SOURCES).with_suffix("").parts)
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    @cached_property
    def tree(self):
        return ast.parse(self.text)

    @cached_property
    def definitions(self):
        return {node.name: node for node in self.tree.body if isinstance(node, (*FUNCTIONS, ast.ClassDef))}

    @cached_property
    def origins(self):
        """Names that are imported, and where from; imports inside functions and under TYPE_CHECKING count."""
        froms = (node for node in ast.walk(self.tree) if isinstance(node, ast.ImportFrom))
        return {name.asname or name.name: f"{node.module}.{name.name}" for node in froms for name in node.names}

    @property
    def exported(self):
        for node in self.tree.body:
            if isinstance(node, ast.Assign) and node.targets[0].id == "__all__":
                return [element.value for element in node.value.elts if isinstance(element, ast.Constant)]
        return []


class House:
    """All modules, and which classes and functions of theirs are the library's surface."""

    def __init__(self):
        paths = sorted(SOURCES.rglob("*.py"))
        self.modules = {m.name: m for m in (Module(path, path.read_text(encoding="utf-8")) for path in paths)}
        self.public = set()
        for page in sorted((ROOT / "docs" / "api").glob("*.md")):
            for name in re.findall(r"^::: (\S+)", page.read_text(encoding="utf-8"), re.MULTILINE):
                self._publish(name)
        homes = next(node.value for node in self.modules["kolmogorov"].tree.body if self._is_table(node, "_HOMES"))
        for name, home in ast.literal_eval(homes).items():
            self._publish(home if home.endswith(f".{name}") else f"{home}.{name}")

    @staticmethod
    def _is_table(node, name):
        return isinstance(node, ast.Assign) and getattr(node.targets[0], "id", None) == name

    def _publish(self, name):
        """Take a module's exports, a class with its bases, or a function, by its dotted name, for public."""
        if name in self.modules:
            for exported in self.modules[name].exported:
                self._publish(f"{name}.{exported}")
            return
        home, _, short = name.rpartition(".")
        module = self.modules.get(home)
        if module is None or (home, short) in self.public:
            return
        if short not in module.definitions:
            if short in module.origins:
                self._publish(module.origins[short])
            return
        self.public.add((home, short))
        for base in getattr(module.definitions[short], "bases", ()):
            for part in ast.walk(base):
                if isinstance(part, ast.Name):
                    self._publish(module.origins.get(part.id, f"{home}.{part.id}"))

    def functions(self):
        """Yield every function with its module, its name for people, and whether it belongs to the surface."""
        for module in self.modules.values():
            yield from self._inside(module, module.tree, "", (module.name, None))

    def _inside(self, module, node, prefix, owner):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.ClassDef):
                yield from self._inside(module, child, f"{prefix}{child.name}.", (module.name, child.name))
            elif isinstance(child, FUNCTIONS):
                top = owner if owner[1] else (module.name, child.name)
                hidden = child.name.startswith("_") and child.name not in ("__init__", "__new__", "__call__")
                yield module, f"{prefix}{child.name}", child, top in self.public and not hidden
                yield from self._inside(module, child, f"{prefix}{child.name}.", ("", ""))
            else:
                yield from self._inside(module, child, prefix, owner)


HOUSE = House()


def decorated_with(function, *words):
    return any(word in ast.unparse(decorator) for decorator in function.decorator_list for word in words)


def parameters(function):
    taken = function.args
    names = [argument.arg for argument in (*taken.posonlyargs, *taken.args, *taken.kwonlyargs)]
    return [name for name in names if name not in ("self", "cls")]


def test_the_surface_is_found():
    named = {short for _, short in HOUSE.public}
    assert named >= {
        "KolmogorovModel",
        "BayesianKolmogorovModel",
        "Observations",
        "read_ratings",
        "pack",
        "Cuda",
        "tune",
    }
    assert named >= {"Recommender", "RowSolver", "LocalSearch"}
    assert not named & {"ThreadedEngine", "Verb", "HalfStep"}


def test_no_module_is_long():
    long = {module.place: module.text.count("\n") for module in HOUSE.modules.values()}
    long = {place: lines for place, lines in long.items() if lines > MOST_LINES}
    assert not long, f"modules of more than {MOST_LINES} lines: {long}"


def test_no_room_is_full():
    rooms = {}
    for module in HOUSE.modules.values():
        room, _, file = module.place.rpartition("/")
        if file != "__init__.py" and not room.startswith(LONG_LISTS):
            rooms.setdefault(room or ".", []).append(file)
    full = {room: len(files) for room, files in rooms.items() if len(files) > MOST_MODULES}
    assert not full, f"rooms of more than {MOST_MODULES} modules: {full}"


def test_no_function_is_long_or_takes_much():
    offenders = []
    for module, name, function, public in HOUSE.functions():
        if public or decorated_with(function, "click.command", ".command("):
            continue
        lines, taken = function.end_lineno - function.lineno + 1, len(parameters(function))
        if lines > LONGEST_FUNCTION:
            offenders.append(f"{module.place}: {name} has {lines} lines")
        # Compiled functions are given arrays one by one.
        if taken > MOST_PARAMETERS and not decorated_with(function, "kernel"):
            offenders.append(f"{module.place}: {name} has {taken} parameters")
    limits = f"{LONGEST_FUNCTION} lines and {MOST_PARAMETERS} parameters"
    assert not offenders, f"functions of more than {limits} that are no part of the surface:\n" + "\n".join(offenders)


def test_every_docstring_speaks_for_itself():
    documented = (*FUNCTIONS, ast.ClassDef, ast.Module)
    offenders = [
        f"{module.place}: {getattr(node, 'name', 'module')}"
        for module in HOUSE.modules.values()
        for node in ast.walk(module.tree)
        if isinstance(node, documented) and (ast.get_docstring(node) or "").startswith("Do the same")
    ]
    assert not offenders, "docstrings that begin with 'Do the same':\n" + "\n".join(offenders)


def names_of(module):
    """Return the names that a module gives: its own, those of functions, classes, parameters, variables, attributes."""
    yield module.place
    for node in ast.walk(module.tree):
        if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr


def test_the_word_is_gpu():
    offenders = sorted(
        {
            f"{module.place}: {name}"
            for module in HOUSE.modules.values()
            for name in names_of(module)
            if "device" in name.lower()
        }
    )
    assert not offenders, "names with 'device', where the word is 'gpu':\n" + "\n".join(offenders)
