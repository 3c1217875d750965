"""What a server is told: the model, its limits, the token. Workers are processes of their own and read it as text."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

#: The variable that a person sets, and the one by which the server tells its workers.
TOKEN_VARIABLE, TOLD_VARIABLE = "KOLMOGOROV_TOKEN", "KOLMOGOROV_SERVE"

#: How many times the longest list the lists of one request may hold together; by judgement.
LINES = 20


@dataclass(frozen=True)
class Settings:
    """How a model is served.

    Attributes
    ----------
    model : str
        The file.
    titles : str or None
        A file with what the items are called.
    most_bytes : int
        Of a request's body.
    most_listed : int
        Items of a list, and users, guests or pairs of a request.
    seconds : float
        For a request to come in, and for its answer.
    pause : float
        Seconds between two looks at the file.
    threads : int
        Requests that a worker computes at a time.
    """

    model: str
    titles: str | None = None
    most_bytes: int = 1_000_000
    most_listed: int = 1_000
    seconds: float = 10.0
    pause: float = 1.0
    threads: int = 4

    @property
    def most_lines(self) -> int:
        """Lines of all lists of a request together."""
        return LINES * self.most_listed

    def to_environment(self) -> dict[str, str]:
        """Return the variable that tells a worker; the token has one of its own."""
        return {TOLD_VARIABLE: json.dumps(asdict(self) | {"model": str(Path(self.model).resolve())})}

    @classmethod
    def from_environment(cls, variables: Mapping[str, str] | None = None) -> Settings:
        """Undo `to_environment`."""
        return cls(**json.loads((os.environ if variables is None else variables)[TOLD_VARIABLE]))


def token(variables: Mapping[str, str] | None = None) -> str | None:
    """Return the token that requests must show, or None where everybody may ask."""
    return (os.environ if variables is None else variables).get(TOKEN_VARIABLE) or None
