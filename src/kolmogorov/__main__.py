"""``python -m kolmogorov`` is the same as ``kolmogorov``."""

from kolmogorov.cli import main

if __name__ == "__main__":
    main()
