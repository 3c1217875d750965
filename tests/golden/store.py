"""How goldens are stored: of each array its shape, a hash of its bits, and some of its numbers; of texts only the hash.

`python -m golden.store` (in `tests`) writes them anew; `python -m golden.store "zoo: draws"` those fits alone. A commit
that does so says which results change and why.
"""

import hashlib
import json
import os
import sys
import tempfile
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
#: Values kept of an array, evenly spaced.
KEPT = 6


def processor():
    """Name the kind of processor and the packages whose arithmetic decides on the last bit."""
    import llvmlite
    import scipy

    cpu = Path("/proc/cpuinfo")
    lines = cpu.read_text().splitlines() if cpu.exists() else []
    kind = sorted({line for line in lines if line.startswith(("model name", "flags", "Features"))})
    versions = f"numpy {np.__version__}, scipy {scipy.__version__}, llvmlite {llvmlite.__version__}"
    return f"{versions}, {hashlib.sha256(''.join(kind).encode()).hexdigest()[:12]}"


def stored_elsewhere():
    """Tell whether goldens were written on another kind of processor, so that bits may differ."""
    return json.loads((HERE / "fits.json").read_text("utf-8"))["processor"] != processor()


def summary(value):
    """Return an array, or a dictionary of them, as it is stored."""
    if isinstance(value, dict):
        return {name: summary(part) for name, part in value.items()}
    array = np.ascontiguousarray(value)
    texts = array.dtype.kind not in "biuf"
    bits = "\n".join(map(str, array.ravel().tolist())).encode() if texts else array.tobytes()
    if array.size and not texts:
        array = array.astype(np.float64)
    chosen = np.linspace(0, max(array.size - 1, 0), min(array.size, KEPT)).astype(int)
    some = [] if texts else [float(part) for part in array.ravel()[chosen]]
    return {"shape": list(array.shape), "hash": hashlib.sha256(bits).hexdigest()[:16], "some": some}


def differences(stored, found, exact, within=1e-9, place=""):
    """List where two summaries differ: in any bit, or elsewhere in shape and by more than so much."""
    if "hash" not in stored:
        parts = stored.keys() | found.keys()
        none = {"shape": None, "hash": None, "some": []}
        pairs = [(name, stored.get(name, none), found.get(name, none)) for name in sorted(parts)]
        return [line for name, *pair in pairs for line in differences(*pair, exact, within, f"{place}/{name}")]
    if exact or stored["shape"] != found["shape"]:
        same = stored["hash"] == found["hash"]
    else:
        # Texts are not compared elsewhere: a number in them may be rounded the other way.
        same = np.allclose(stored["some"], found["some"], rtol=within, atol=within, equal_nan=True)
    return [] if same else [f"{place}: {found['some'][:6]} instead of {stored['some'][:6]}"]


def one_each(parts, depth=2):
    """Return JSON with a line for each part of a part."""
    if not isinstance(parts, dict) or not depth:
        return json.dumps(parts, ensure_ascii=False, sort_keys=True)
    lines = [f"{json.dumps(name)}: {one_each(parts[name], depth - 1)}" for name in sorted(parts)]
    return "{\n" + ",\n".join(lines) + "\n}" + ("\n" if depth == 2 else "")


def write(names):
    os.environ.setdefault("KOLMOGOROV_DATA", str(HERE.parents[2] / "shared" / "data"))
    from golden import fits, readings

    path = HERE / "fits.json"
    stored = json.loads(path.read_text("utf-8")) if names else {}
    stored["processor"] = processor()
    for name, given in fits.fits().items():
        if not names or name in names:
            stored[name] = summary(fits.made(*given))
            print(name)
    path.write_text(one_each(stored), "utf-8")
    if not names:
        with tempfile.TemporaryDirectory() as folder:
            found = readings.all_read(Path(folder))
        (HERE / "readings.json").write_text(one_each(found), "utf-8")


if __name__ == "__main__":
    write(sys.argv[1:])
