#!/usr/bin/env bash
# A quick audit of the bundled example, or of the path, owner/repo or address given. Sets everything up by itself.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
target="${1:-$here/tiny-trainer}"
if [ -e "$target" ]; then target="$(cd "$target" && pwd)"; fi
exec make --no-print-directory -C "$here/.." audit REPO="$target"
