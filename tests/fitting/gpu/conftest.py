"""A GPU that is the host."""

from helpers.gpu import cuda, cupy  # noqa: F401 - fixtures
