#!/usr/bin/env bash
# Runs the bundle that scripts/gpu_bundle made, on a machine with an NVIDIA driver and a Python that has torch.
#   ./run.sh [--part NAME]... [--seconds N] [--output FOLDER] [--small]
# OMNIRT_PYTHON names the Python; else the first of those below that has torch. `./run.sh --help` lists the parts.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

# Whether it has torch, and one with CUDA. Nothing is imported: that takes seconds.
has_torch() {
  "$1" - "$2" 2> /dev/null <<'END'
import importlib.util, pathlib, re, sys
found = importlib.util.find_spec("torch")
version = pathlib.Path(found.origin).with_name("version.py").read_text() if found else ""
sys.exit(0 if found and (sys.argv[1] == "any" or re.search(r"cuda[^=\n]*= *'", version)) else 1)
END
}

candidates=(${OMNIRT_PYTHON:+"$OMNIRT_PYTHON"} python3 python "${HOME:-/root}"/*/bin/python3 /opt/*/bin/python3 /opt/*/.venv/bin/python3
  /usr/local/bin/python3 /usr/bin/python3)
for kind in cuda any; do
  for python in "${candidates[@]}"; do
    command -v "$python" > /dev/null || continue
    if has_torch "$python" "$kind"; then
      exec "$python" "$here/bench/device/run_parts.py" --bundle "$here" "$@"
    fi
  done
done
echo "run.sh: no Python here has torch; install torch 2.11 with CUDA, or name a Python in OMNIRT_PYTHON" >&2
exit 2
