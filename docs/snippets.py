"""What a snippet of a page needs before it can run alone: the statements of earlier ones that it depends on.

A name leads back to the statement that binds it, and to those that change it; a file, to those that name it. The site
folds this set-up above the snippet, its copy button takes both, and a test runs both in an empty process.
"""

import ast
import re
from dataclasses import dataclass

FENCE = re.compile(r"^```(?P<kind>python|console)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"[\w-]+\.(?:csv|txt|km|table|ckpt|sparse|db|json)\b")
#: Methods that leave what they are called on as it is.
_LEAVES = frozenset(("save", "report", "plot"))
_HERE = "python - <<'END'\n{code}\nEND\n"


@dataclass(frozen=True)
class Snippet:
    """A snippet of a page.

    Attributes
    ----------
    kind : {"python", "console"}
    text : str
        As the page shows it, without the prompts of a shell.
    setup : str
        What must run before it; may be nothing.
    start : int
        Where its fence begins in the page.
    """

    kind: str
    text: str
    setup: str
    start: int

    @property
    def whole(self) -> str:
        """What the copy button copies."""
        return f"{self.setup}\n{self.text}" if self.setup else self.text


@dataclass(frozen=True)
class _Statement:
    """A statement of an earlier snippet, or a command of a shell where there is no tree."""

    source: str
    tree: ast.stmt | None = None

    @property
    def files(self) -> set[str]:
        return set(_FILE.findall(self.source))


def snippets(markdown: str) -> list[Snippet]:
    """Return the snippets of a page, in order."""
    earlier: list[_Statement] = []
    found = []
    for fence in FENCE.finditer(markdown):
        kind = fence["kind"]
        here = _statements(fence["text"]) if kind == "python" else _commands(fence["text"])
        text = fence["text"] if kind == "python" else "".join(f"{command.source}\n" for command in here)
        found.append(Snippet(kind, text, _setup(kind, here, earlier), fence.start()))
        earlier += here
    return found


def _statements(code: str) -> list[_Statement]:
    lines = code.splitlines()
    return [_Statement("\n".join(lines[node.lineno - 1 : node.end_lineno]), node) for node in ast.parse(code).body]


def _commands(text: str) -> list[_Statement]:
    lines = text.replace("\\\n", " ").splitlines()
    return [_Statement(line.removeprefix("$ ")) for line in lines if line.startswith("$ ")]


def _setup(kind: str, here: list[_Statement], earlier: list[_Statement]) -> str:
    needed, files, taken = set(), set(), []
    modules = set().union(*(_bound(statement.tree) for statement in earlier if _imports(statement)))
    for statement in reversed(here):
        _step_back(statement, needed)
        files |= statement.files
    for statement in reversed(earlier):
        if statement.files & files or (statement.tree is not None and _matters(statement.tree, needed, modules)):
            _step_back(statement, needed)
            files |= statement.files
            taken.insert(0, statement)
    imports = sorted(dict.fromkeys(statement.source for statement in taken if _imports(statement)), key=_from_last)
    rest = [statement.source for statement in taken if statement.tree is not None and not _imports(statement)]
    code = "\n".join([*imports, *([""] if imports and rest else []), *rest])
    if kind == "python":
        return code
    shell = "".join(f"{statement.source}\n" for statement in taken if statement.tree is None)
    return (_HERE.format(code=code) if code else "") + shell


def _imports(statement: _Statement) -> bool:
    return isinstance(statement.tree, ast.Import | ast.ImportFrom)


def _from_last(source: str) -> tuple[bool, str]:
    return source.startswith("from "), source


def _matters(tree: ast.stmt, needed: set[str], modules: set[str]) -> bool:
    """Tell whether a statement, or one inside it, binds or changes something that is needed."""
    if needed & _bound(tree):
        return True
    if isinstance(tree, ast.FunctionDef | ast.ClassDef):
        return False
    return any(_changes(node, needed, modules) for node in ast.walk(tree) if isinstance(node, ast.stmt))


def _changes(tree: ast.stmt, needed: set[str], modules: set[str]) -> bool:
    """Tell whether an assignment to a part, or a call of a method, changes something that is needed."""
    if isinstance(tree, ast.Assign | ast.AugAssign):
        targets = tree.targets if isinstance(tree, ast.Assign) else [tree.target]
        return any(_root(target)[0] in needed for target in targets) or _fits(tree.value, needed)
    if isinstance(tree, ast.Expr) and isinstance(tree.value, ast.Call):
        name, first = _root(tree.value.func)
        if name in modules:
            return name in needed and first == "seed"
        return name in needed and first is not None and first not in _LEAVES
    return False


def _fits(value: ast.expr, needed: set[str]) -> bool:
    """Tell whether a value comes from a method that also teaches what it is called on, as `fit_transform` does."""
    name, first = _root(value.func) if isinstance(value, ast.Call) else (None, None)
    return name in needed and first is not None and first.startswith(("fit", "update"))


def _root(node: ast.expr) -> tuple[str | None, str | None]:
    """Return the name that a chain of attributes, items and calls begins with, and its first attribute."""
    first = None
    while not isinstance(node, ast.Name):
        if isinstance(node, ast.Attribute):
            first, node = node.attr, node.value
        elif isinstance(node, ast.Subscript):
            first, node = "[]", node.value
        elif isinstance(node, ast.Call):
            node = node.func
        else:
            return None, None
    return node.id, first


def _bound(tree: ast.stmt) -> set[str]:
    """Return the names that a statement binds outside of functions and comprehensions."""
    if isinstance(tree, ast.FunctionDef | ast.ClassDef):
        return {tree.name}
    names = set()
    for node in _outside(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
    return names


def _outside(node: ast.AST):
    """Walk a tree without going into comprehensions, whose names are their own."""
    yield node
    if not isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp | ast.Lambda):
        for child in ast.iter_child_nodes(node):
            yield from _outside(child)


def _step_back(statement: _Statement, needed: set[str]) -> None:
    """Change what is needed after a statement to what is needed before it."""
    if statement.tree is None:
        return
    if isinstance(statement.tree, ast.Assign | ast.Import | ast.ImportFrom | ast.FunctionDef | ast.ClassDef):
        needed -= _bound(statement.tree)  # a loop may not bind, these do
    needed |= {
        node.id for node in ast.walk(statement.tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    }
