"""Everything that can go wrong, by name. Each message says what was expected, what came, what to do."""


class KolmogorovError(Exception):
    """Base of all errors raised on purpose; the command line shows its message and nothing else."""


class DataError(KolmogorovError, ValueError):
    """The observations cannot be used as they are."""


class EmptyDataError(DataError):
    """A source that could be read holds nothing."""


class ParameterError(KolmogorovError, ValueError):
    """A parameter has a value outside its range, or a name nobody knows."""


class UnknownIdError(KolmogorovError, LookupError):
    """A user or item that the model has never seen, where that was to be an error."""


class FileFormatError(KolmogorovError, ValueError):
    """A file is damaged, cut short, or not of the kind it was opened as."""


class FileWriteError(KolmogorovError, OSError):
    """A file cannot be written where it was to be."""


class MissingExtraError(KolmogorovError, ImportError):
    """An optional package is not installed; the message holds the command that installs it."""


class ExecutionError(KolmogorovError, RuntimeError):
    """The machines that were to do the work did not."""


class InvariantError(KolmogorovError, ValueError):
    """A value breaks what always holds of its kind: a theta off the simplex, an index outside its table, a NaN."""


class KolmogorovWarning(UserWarning):
    """Base of all warnings given on purpose; the command line shows each as one line."""


class UnknownIdWarning(KolmogorovWarning):
    """An id that the model has never seen was treated as the average one."""


class ConvergenceWarning(KolmogorovWarning):
    """Chains or sweeps have not settled; results may still move."""
