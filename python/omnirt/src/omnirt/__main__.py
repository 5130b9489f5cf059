"""`omnirt` and `python -m omnirt`: the program of this package, in place of this process."""

import contextlib
import os
import sys

from omnirt import _load


def main() -> None:
    path, environment = _load.program()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, OSError, ValueError):  # None where it is closed
            stream.flush()
    os.execve(path, ["omnirt", *sys.argv[1:]], environment)


if __name__ == "__main__":
    main()
