"""What a callback's answer means."""

from __future__ import annotations

from typing import Any

import numpy as np


def says_stop(answer: Any) -> bool:
    """Tell whether a callback asks to stop: by True, Python's own or NumPy's; None and everything else mean go on.

    A comparison of NumPy numbers gives NumPy's True, and a callback such as `list.append` gives None.

    Examples
    --------
    >>> import numpy as np
    >>> says_stop(np.float64(0.1) < 0.2), says_stop(None), says_stop(1)
    (True, False, False)
    """
    return isinstance(answer, (bool, np.bool_)) and bool(answer)
