"""Processes that tests start and stop, with the signals of a terminal whatever the shell that runs the tests ignores.

What a process ignores its children ignore: `nohup make test &` would leave SIGINT and SIGHUP without effect.
"""

import os
import subprocess
import sys
import time

#: At the head of a program: Ctrl-C is a KeyboardInterrupt again, and closing the terminal ends it.
SIGNALS = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP"):
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
"""
_TOOL = SIGNALS + "import runpy; runpy.run_module('kolmogorov', run_name='__main__', alter_sys=True)"
#: Seconds after which what a test waits for is taken to never come; a busy machine is to stay far below.
PATIENCE = 600


def tool(*arguments):
    """Return the words that run the command line as a process."""
    return [sys.executable, "-c", _TOOL, *map(str, arguments)]


def printed(code, *arguments):
    """Run a program that may be sent signals; return the lines that it prints."""
    done = subprocess.run(
        [sys.executable, "-c", SIGNALS + code, *map(str, arguments)],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.splitlines()


def wait_until(holds, what):
    """Look again and again until something holds."""
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, f"{what} never came"
        time.sleep(0.02)
