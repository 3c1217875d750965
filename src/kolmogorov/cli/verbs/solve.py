"""`kolmogorov solve`: a binary quadratic program from a file, or one over a grid of values."""

from __future__ import annotations

from typing import Any

import click

from kolmogorov.cli.command import Verb, doing
from kolmogorov.cli.file_parameters import Input


@click.command("solve", cls=Verb)
@click.argument("problem", type=Input())
@click.option("--solver", default="auto", show_default=True, help="How to solve it; docs/solvers.md says which when.")
@click.option("--option", "pairs", multiple=True, metavar="NAME=VALUE", help="Option of the solver; may be repeated.")
@click.option(
    "--levels",
    callback=lambda context, parameter, text: _numbers(text),
    metavar="V,V,...",
    help="Values that each variable may take, increasing.  [default: 0,1]",
)
@click.option("--seed", default=0, show_default=True)
@click.option(
    "--format", "form", type=click.Choice(["table", "json"]), default="table", show_default=True, help="Of the answer."
)
def command(
    problem: str, solver: str, pairs: tuple[str, ...], levels: list[float] | None, seed: int, form: str
) -> None:
    """Solve a binary quadratic program.

    Minimises x^T S x - 2 x^T v over x in {0,1}^D, or a grid of values, and prints value, bound, gap, time and x.

    PROBLEM is an .npz file with the arrays S and v, or a text file in Biq Mac's sparse format.

    \b
    Examples:
      kolmogorov solve problem.npz --solver exhaustive
      kolmogorov solve problem.npz --levels 0,0.25,0.5,0.75,1 --solver binary --option solver=enhanced_gd
      kolmogorov solve bqp50-1.sparse --solver enhanced_gd --option gamma=1000
    """
    from kolmogorov import bqp
    from kolmogorov.bqp.solving import lone_solver
    from kolmogorov.cli.display import emit

    options = dict(_option(pair) for pair in pairs)
    doing(f"Solving {problem}")
    program: Any = bqp.read(problem)
    method = lone_solver(solver, over_levels=levels is not None, **options)
    if levels is not None:
        program = bqp.LevelQP(program.gram, program.moment, levels, program.offset)
    # The first call of a solver in a process loads or compiles its kernels; the time printed is the problem's own.
    bqp.solve([[1.0, 0.5], [0.5, 1.0]], [1.0, 1.0], levels=levels, solver=method)
    solution = bqp.solve(program, solver=method, random_state=seed)
    answer: dict[str, Any] = {
        "value": solution.value,
        "lower bound": solution.lower_bound,
        "gap": solution.gap,
        "status": solution.status.value,
        "iterations": solution.iterations,
        "nodes": solution.nodes,
        "eigendecompositions": solution.n_evd,
        "Lanczos runs": solution.n_lanczos or None,
        "seconds": round(solution.seconds, 6),
        "x": "".join(str(int(bit)) for bit in solution.x)
        if levels is None
        else " ".join(map("{:g}".format, solution.x)),
    }
    known = {name: value for name, value in answer.items() if value is not None}
    if form == "table":
        known = {name: f"{value:.10g}" if isinstance(value, float) else value for name, value in known.items()}
    emit({"what": list(known), "is": list(known.values())}, form, None, f"{solver} on {solution.x.size} variables")


def _numbers(text: str | None) -> list[float] | None:
    try:
        return None if text is None else [float(part) for part in text.split(",")]
    except ValueError:
        raise click.BadParameter(f"expected numbers separated by commas, got {text!r}.") from None


def _option(pair: str) -> tuple[str, Any]:
    """Read NAME=VALUE, where the value is a number, true, false, none or a word."""
    name, equals, text = pair.partition("=")
    if not equals:
        raise click.UsageError(f"An option is written NAME=VALUE, got {pair!r}.")
    if text.lower() in ("true", "false", "none"):
        return name, {"true": True, "false": False, "none": None}[text.lower()]
    for kind in (int, float):
        try:
            return name, kind(text)
        except ValueError:
            continue
    return name, text
