#!/usr/bin/env bash
# Measure the engine on one GPU (README.md). With --quick: the same with a tiny model on a CPU.
set -euo pipefail
exec "${PYTHON:-python}" "$(dirname "$0")/benchmark.py" "$@"
