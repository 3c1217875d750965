"""The version, said once; the build reads it from here."""

__version__ = "0.3.0"
