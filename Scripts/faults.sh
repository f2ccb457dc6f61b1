#!/usr/bin/env bash
# Failure loops: each call of each kind fails once, in its own run, and from there on for ever.
#
#     Scripts/faults.sh               a few minutes; a release build of the tests first
#
# Prints a line for each fault: how many calls failed, how many errors were judged, how often the writer died, how many images
# of crashes were opened. A finding names the fault and the number k of the call. `swift test` takes a part of the same
# (FaultLoopTests). The exit status is 1 when there is a finding.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# The same build as the record model's (Scripts/check.sh model).
DAYBOOK_FAULTS=all swift test -c release --scratch-path .build/model -Xswiftc -enable-testing --filter FaultLoopTests >"$log" 2>&1
status=$?
grep -E '^faults: |recorded an issue|^↳ .*k = |error:' "$log" | cut -c1-600
grep -qE 'Test run with [1-9][0-9]* tests?' "$log" || { echo "no test was run"; tail -n 20 "$log"; exit 1; }
grep -E '^faults: ' "$log" | awk '
  /k = 1 to/ { kinds++; match($0, /k = 1 to [0-9]+/); calls += substr($0, RSTART + 9, RLENGTH - 9) }
  /k = 1 to/ { for (i = 2; i <= NF; i++) { if ($i == "errors,") errors += $(i - 1); if ($i == "images") images += $(i - 1) } }
  /recovery,/ { for (i = 2; i <= NF; i++) if ($i == "calls") recovery += $(i - 1) }
  END { print kinds " faults, " calls " calls failed in the workload and " recovery " in recovery, " errors " errors judged, " images " images opened" }'
grep -E 'Test run with' "$log"
exit "$status"
