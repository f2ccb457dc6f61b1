#!/usr/bin/env bash
# Counts what the hot paths cost and compares it with Benchmarks/thresholds.txt.
#
#     Scripts/guard.sh            exit status 1 when a path costs more than it may
#     Scripts/guard.sh --write    writes the file anew
#     Scripts/guard.sh --debug    counts a build without optimisation, and says how many times the file's counts that is
#
# Instructions are callgrind's; allocations are counted in front of the C library's allocator, syncs and writes on a counting
# disk: the same in every run, whatever else the machine does. Needs valgrind (Linux), and installs it from Debian or Ubuntu when it is missing. Where it cannot run, the
# guard fails. About two minutes with the release build, half a minute without.
set -euo pipefail
cd "$(dirname "$0")/.."

if [ "$(uname -s)" != Linux ]; then
  echo "guard: valgrind counts on Linux only; nothing was counted"
  exit 0
fi

configuration=release
option=()
case "${1-}" in
  "") ;;
  --write) option=(--write) ;;
  --debug)
    configuration=debug
    option=(--debug)
    ;;
  *)
    sed -n '2,10s/^# \{0,1\}//p' "$0" >&2
    exit 2
    ;;
esac

if ! command -v valgrind >/dev/null; then
  echo "guard: installing valgrind"
  run=()
  [ "$(id -u)" -eq 0 ] || run=(sudo)
  if ! { ${run[@]+"${run[@]}"} apt-get update && ${run[@]+"${run[@]}"} apt-get install -y --no-install-recommends valgrind; } >/dev/null 2>&1; then
    echo "guard: there is no valgrind, and it cannot be installed" >&2
    exit 1
  fi
fi
if ! valgrind --tool=none --quiet true; then
  echo "guard: valgrind does not run on this machine; nothing was counted" >&2
  exit 1
fi

swift build -c "$configuration" --product DaybookGuard
guard=$(swift build -c "$configuration" --show-bin-path)/DaybookGuard
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT

failed() { # WHAT LOG
  cat "$2" >&2
  echo "guard: $1; nothing was compared" >&2
  exit 1
}
# Hashing takes its seed from the environment: dictionaries are the same in every run.
clean=(env -i PATH="$PATH" HOME="$directory" SWIFT_DETERMINISTIC_HASHING=1)

# Collection is on inside one function only, and each return from it writes a file: profile.1, profile.2, …
loop='$s12DaybookGuard11countedLoopyyF' # countedLoop(), as the linker knows it
mkdir "$directory/callgrind" "$directory/plain"
"${clean[@]}" valgrind --tool=callgrind --quiet --callgrind-out-file="$directory/plain/profile" \
  --toggle-collect="$loop" --dump-after="$loop" \
  "$guard" run "$directory/callgrind" >"$directory/log" 2>&1 ||
  failed "callgrind could not walk the paths" "$directory/log"

# A second walk without callgrind, with a counter in front of the allocator.
clang -O2 -shared -fPIC -o "$directory/allocations.so" Benchmarks/Allocations/allocations.c >"$directory/log" 2>&1 ||
  failed "the counter of allocations could not be compiled" "$directory/log"
"${clean[@]}" LD_PRELOAD="$directory/allocations.so" "$guard" run "$directory/plain" >"$directory/log" 2>&1 ||
  failed "the paths could not be walked" "$directory/log"
"$guard" report "$directory/plain" Benchmarks/thresholds.txt ${option[@]+"${option[@]}"}
