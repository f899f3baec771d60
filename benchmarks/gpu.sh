#!/usr/bin/env bash
# The checks of correctness, memory and time on one device, in under 5 minutes, as a table.
#
#   benchmarks/gpu.sh             on the CUDA card; writes benchmarks/RESULTS-cuda.md
#   benchmarks/gpu.sh mps         on Apple's MPS
#   benchmarks/gpu.sh cpu         a small run of the same, to try the script where there is no GPU
#
# PYTHON names the interpreter; without it .venv's is taken. Ends with 1 where a goal is missed.
set -euo pipefail
cd "$(dirname "$0")/.."
device="${1:-cuda}"
if [[ -z "${PYTHON:-}" ]]; then
  PYTHON=python3
  if [[ -x .venv/bin/python ]]; then PYTHON=.venv/bin/python; fi
fi
export OMP_WAIT_POLICY=passive HF_HUB_OFFLINE=1 TOKENIZERS_PARALLELISM=false
export PYTHONPATH="$PWD${PYTHONPATH:+:$PYTHONPATH}"
exec "$PYTHON" benchmarks/device_checks.py --device "$device" --out "benchmarks/RESULTS-${device//:/-}.md"
