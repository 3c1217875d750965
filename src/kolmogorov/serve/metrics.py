"""Counts and times of requests, in the text that Prometheus reads. Nothing in it tells who asked for what."""

from __future__ import annotations

import os
import threading
from bisect import bisect_left
from collections import defaultdict

#: Upper ends of the bins of times, in seconds.
BINS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
#: Methods that are counted by name.
METHODS = ("GET", "POST", "HEAD", "OPTIONS", "PUT", "PATCH", "DELETE")


class Metrics:
    """What one worker has answered so far."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._answers: dict[tuple[str, str, int], int] = defaultdict(int)
        self._bins: dict[str, list[int]] = defaultdict(lambda: [0] * (len(BINS) + 1))
        self._seconds: dict[str, float] = defaultdict(float)

    def add(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count one answer; methods that no route has are one, however many a client invents."""
        method = method if method in METHODS else "other"
        with self._lock:
            self._answers[method, route, status] += 1
            self._bins[route][bisect_left(BINS, seconds)] += 1
            self._seconds[route] += seconds

    def text(self, *, since: float, swaps: int, failing: bool) -> str:
        """Return everything, for one worker: the label says which, since another may answer the next time."""
        worker = f'worker="{os.getpid()}"'
        lines = ["# Counts of one worker, which the label names. Another worker may answer the next time."]
        lines += ["# HELP kolmogorov_requests_total Requests answered.", "# TYPE kolmogorov_requests_total counter"]
        with self._lock:
            for (method, route, status), count in sorted(self._answers.items()):
                labels = f'method="{method}",route="{route}",status="{status}",{worker}'
                lines.append(f"kolmogorov_requests_total{{{labels}}} {count}")
            lines.append("# HELP kolmogorov_request_seconds Time from the whole request to the answer.")
            lines.append("# TYPE kolmogorov_request_seconds histogram")
            for route, bins in sorted(self._bins.items()):
                total = 0
                for end, count in zip([*map(str, BINS), "+Inf"], bins, strict=True):
                    total += count
                    lines.append(f'kolmogorov_request_seconds_bucket{{route="{route}",le="{end}",{worker}}} {total}')
                lines.append(f'kolmogorov_request_seconds_sum{{route="{route}",{worker}}} {self._seconds[route]:.6f}')
                lines.append(f'kolmogorov_request_seconds_count{{route="{route}",{worker}}} {total}')
        for name, kind, text, value in (
            ("model_loaded_timestamp_seconds", "gauge", "When the model that is served was loaded.", f"{since:.3f}"),
            ("model_swaps_total", "counter", "Models that took the place of another.", str(swaps)),
            ("model_failing", "gauge", "Whether the file has changed and could not be loaded.", str(int(failing))),
        ):
            lines += [f"# HELP kolmogorov_{name} {text}", f"# TYPE kolmogorov_{name} {kind}"]
            lines.append(f"kolmogorov_{name}{{{worker}}} {value}")
        return "\n".join(lines) + "\n"
