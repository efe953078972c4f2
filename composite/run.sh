#!/usr/bin/env bash
# What the steps of the composite action run, on Linux, macOS (bash 3.2) and Windows (Git's bash).
#   run.sh place   where downloaded wheels lie and the key of their cache, as outputs
#   run.sh audit   an environment with the locked wheels, then the action; its exit code is the step's
# Reads RUNNER_TEMP, GITHUB_OUTPUT and PYTHON; inputs are INPUT_… and go through untouched.
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
lock="$root/requirements/runtime.lock"
home="$RUNNER_TEMP/ml-audit"
wheels="$home/wheels"

place() {
  # With what differs between wheels: system, processor and interpreter.
  "$PYTHON" -c '
import hashlib, platform, sys
with open(sys.argv[1], "rb") as lock:
    digest = hashlib.sha256(lock.read()).hexdigest()[:16]
print(f"wheels={sys.argv[2]}")
print(f"key=ml-audit-{sys.platform}-{platform.machine()}-{sys.version_info[0]}.{sys.version_info[1]}-{digest}")
' "$lock" "$wheels" >> "$GITHUB_OUTPUT"
}

environment() {
  local venv="$home/venv"
  # A second use in the same job finds the environment of the first.
  if ! cmp -s "$lock" "$venv/installed.lock"; then
    rm -rf "$venv"
    "$PYTHON" -m venv "$venv"
    "$(interpreter)" -m pip install --quiet --disable-pip-version-check --cache-dir "$wheels" \
      --only-binary :all: --require-hashes --requirement "$lock" >&2
    cp "$lock" "$venv/installed.lock"
  fi
}

interpreter() {
  if [ -d "$home/venv/Scripts" ]; then echo "$home/venv/Scripts/python.exe"; else echo "$home/venv/bin/python"; fi
}

case "${1:-}" in
  place) place ;;
  audit)
    environment
    # -I: neither variables of the workflow (PYTHONPATH, PYTHONSTARTUP, ...) nor the checkout have a say in what is imported.
    exec "$(interpreter)" -I -u "$root/entrypoint.py"
    ;;
  *) sed -n '2,5p' "${BASH_SOURCE[0]}" >&2; exit 2 ;;
esac
