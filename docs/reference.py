"""How the reference shows a docstring: examples first, and parameters of a model before those of a run."""

from typing import Any

import griffe

#: Parameters that say how a fit goes, and not what is learned.
RUN = frozenset(
    (
        "user_solver", "item_solver", "max_iter", "tol", "n_init", "random_state", "n_jobs", "execution", "callback",
        "verbose", "keep_better", "checkpoint", "n_chains", "burn_in", "n_samples", "copy",
    )
)  # fmt: skip


class Reference(griffe.Extension):
    """Put the sections of every docstring of the package into the order of the reference."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Go through a package that was loaded."""
        if pkg.name == "kolmogorov":
            _visit(pkg)


def _visit(thing: griffe.Object) -> None:
    for member in thing.members.values():
        if member.is_alias or (member.name.startswith("_") and not member.is_module):
            continue
        if member.docstring is not None and not member.is_module:
            sections = member.docstring.parse("numpy", warnings=False)
            member.docstring.__dict__["parsed"] = ordered(sections, grouped=member.is_class)
        _visit(member)


def ordered(sections: list[Any], *, grouped: bool) -> list[Any]:
    """Return the words, the examples, then the rest; parameters in two groups where there are both."""
    first = [section for section in sections if section.kind is griffe.DocstringSectionKind.text][:1]
    examples = [section for section in sections if section.kind is griffe.DocstringSectionKind.examples]
    rest = [section for section in sections if section not in first + examples]
    found = [*first, *examples]
    for section in rest:
        if grouped and section.kind is griffe.DocstringSectionKind.parameters:
            found += _groups(section)
        else:
            found.append(section)
    return found


def _groups(section: Any) -> list[Any]:
    model = [parameter for parameter in section.value if parameter.name not in RUN]
    run = [parameter for parameter in section.value if parameter.name in RUN]
    if not (model and run):
        return [section]
    titled = {"Parameters of the model": model, "Parameters of the run": run}
    return [griffe.DocstringSectionParameters(value, title=title) for title, value in titled.items()]
