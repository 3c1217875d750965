"""What no emulation of a GPU notices: CUDA's own compiler has no headers of C."""

import re

import pytest

import kolmogorov.gpu.cuda

ROOT = kolmogorov.gpu.cuda.FOLDER
SOURCES = sorted([*ROOT.rglob("*.cu"), *ROOT.rglob("*.cuh")])
OF_HEADERS = re.compile(r"\b(INFINITY|NAN|HUGE_VAL|M_PI|M_SQRT\w*|DBL_\w+|FLT_\w+|INT_MAX|u?int\d+_t)\b|#include <")


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_sources_do_without_headers_of_c(path):
    code = re.sub(r"//.*|/\*.*?\*/", "", path.read_text(encoding="utf-8"))
    assert not OF_HEADERS.search(code)
