"""`omnirt` and `python -m omnirt`: the program of this package, in place of this process."""

import os
import sys

from omnirt import _load


def main() -> None:
    path, environment = _load.program()
    sys.stdout.flush()
    sys.stderr.flush()
    os.execve(path, ["omnirt", *sys.argv[1:]], environment)


if __name__ == "__main__":
    main()
