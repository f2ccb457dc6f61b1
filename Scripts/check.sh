#!/usr/bin/env bash
# The one door to all checks of Daybook.
#
#     Scripts/check.sh                what to run before handing something over: build, tests, format, layers, words, rows,
#                                     demo, smoke
#     Scripts/check.sh PART …         only these parts, in this order
#     Scripts/check.sh all            everything that the CI does: under an hour on two cores
#
# Parts:
#     build     debug and release build; warnings are errors
#     builds    what demo, smoke, guard, crash, kill and fuzz build, at once: optimizing goes through a module on one processor
#     test      swift test
#     buffered  the tests on files that are read instead of mapped, without crash searches, fuzz replays, interleavings, codecs, syncs,
#               CloudKit's names and the tool; all of them: DAYBOOK_ACCESS=buffered swift test (three minutes)
#     format    swift format lint --strict; the scripts run with a Mac's shell and tools (Scripts/shell.sh)
#     layers    no folder of the sources names a type of a layer above it (Scripts/layers.sh has the order)
#     words     words over which readers stumbled get fewer, never more (Scripts/words.txt)
#     rows      every capability of the codecs has a test, found by its id (Scripts/rows.sh)
#     darwin    the sources type-checked for iOS against stand-ins for Apple's modules (Scripts/Darwin), on Linux
#     model     the record model in lockstep with a dictionary for DAYBOOK_MODEL_STEPS steps (100,000), and every
#               order of the steps of writer, checkpoint, reader and second process; release build of the tests, in
#               .build/model; not in `all`, where `test` walks through a part of both
#     thread    the threaded tests under the thread sanitizer, in .build/thread
#     address   every test, optimized, under the address sanitizer, in .build/address; half an hour, not part of `all`
#     demo      daybook demo
#     examples  the packages of Examples, which use Daybook as an application does; in .build/examples, some minutes at first
#     client    a package that uses Daybook by path and by the address of a git repository; not in `all`
#     smoke     the tool on the bundled extract of real places: import, dump, import again, check, export
#     crash     simulated crashes: all of single operations, most of two, DAYBOOK_CRASHES (200,000) random ones,
#               DAYBOOK_TAILS (200,000) damaged ends of logs, DAYBOOK_PROCESSES (100,000) points and crashes of several processes,
#               DAYBOOK_THREADS (200,000) of several threads
#     fuzz      each fuzzer for DAYBOOK_FUZZ_SECONDS (15), see Fuzz/README.md
#     kill      kill -9 of programs, readers and rivals at DAYBOOK_KILL_ROUNDS (10) random moments each, and disks without room
#     assets    files of the toolchain (DAYBOOK_ASSET_DIRECTORY) as assets, killed DAYBOOK_KILL_ROUNDS (10) times; not in `all`
#     faults    every call fails once, and from some call on (`test` takes a part of it); not in `all`
#     guard     instructions, allocations, syncs and writes of the hot paths against Benchmarks/thresholds.txt; Linux
#     mutants   tests that must fail: the tests with one mistake after the other in the library; not in `all`
#     toyindex  a tree more in each zone (CONTRIBUTING.md), in .build/toyindex: the suites in which a wrong entry shows;
#               about six minutes, most of them the build; not in `all`: run it when the seam of derived trees changes
#
# Prints a line for each step and how long it took; the exit status is 1 when any step failed.
set -uo pipefail
cd "$(dirname "$0")/.." || exit

failed=()
# What the failed steps said, to be told again at the end: the output of all steps is long, and may be kept in part only.
told=$(mktemp)
said=$(mktemp)
trap 'rm -f "$told" "$said"' EXIT
step() { # NAME COMMAND …
  local name=$1 start=$SECONDS
  shift
  echo "── $name"
  "$@" 2>&1 | tee "$said"
  if [ "${PIPESTATUS[0]}" -eq 0 ]; then
    echo "── $name: done in $((SECONDS - start)) s"
  else
    echo "── $name: FAILED after $((SECONDS - start)) s"
    failed+=("$name")
    {
      echo "── $name"
      grep -E '✘|error:|finding:|Fatal|terminated' "$said" | head -n 40
      echo "…"
      tail -n 12 "$said"
    } >>"$told"
  fi
}

# swift test exits with 0 when a filter matches nothing; that would be a check that checks nothing.
tests() {
  local log status
  log=$(mktemp)
  swift test "$@" 2>&1 | tee "$log" | grep -vE '^\[|^(Build|Fetch|Comput|Plann)|(◇|✔) Test |started\.$|passed after'
  status=${PIPESTATUS[0]}
  if ! grep -qE 'Test run with [1-9][0-9]* tests?' "$log"; then
    echo "no test was run"
    status=1
  fi
  grep -E 'Test run with' "$log"
  rm -f "$log"
  return "$status"
}

release_tool() {
  swift build -c release --product daybook >/dev/null && tool=$(swift build -c release --show-bin-path)/daybook
}

build() { swift build --build-tests && swift build -c release; }
builds() {
  local fuzzers status
  DAYBOOK_FUZZERS='' Fuzz/run.sh build &
  fuzzers=$!
  swift build -c release | tail -n 5
  status=${PIPESTATUS[0]}
  wait "$fuzzers" || status=1
  return "$status"
}
format() {
  limits && Scripts/shell.sh &&
    swift format lint --strict --recursive Package.swift Sources Tests Examples Fuzz/Package.swift Fuzz/Sources
}
# A limit of time is for a test that hangs: one that works waits for minutes where all tests share two processors.
limits() {
  ! grep -rnE 'timeLimit\(\.minutes\(([0-9]|1[0-4])\)\)' Tests Examples || {
    echo "a test's limit of time is 15 minutes or more"
    return 1
  }
}
layers() { Scripts/layers.sh; }
words() { Scripts/words.sh; }
rows() { Scripts/rows.sh; }
client() { Scripts/client.sh; }
darwin() { Scripts/darwin.sh; }
model() {
  DAYBOOK_MODEL_STEPS=${DAYBOOK_MODEL_STEPS:-100000} tests -c release --scratch-path .build/model \
    -Xswiftc -enable-testing --filter RecordModel &&
    DAYBOOK_INTERLEAVINGS=all tests -c release --scratch-path .build/model -Xswiftc -enable-testing --filter Interleaving
}
buffered() {
  DAYBOOK_ACCESS=buffered tests --skip 'CrashSearch|CrashMoment|AssetCrash|AddressSpace|FuzzReplay|Interleaving|DaybookToolTests|SimulatedDiskTests|DaybookCodingTests|DaybookCompatibilityTests|DaybookSyncTests'
}
thread() { tests --sanitize thread --scratch-path .build/thread --filter Thread --skip ThreadSearch; }
# Leaks are not looked for: tests of crashes keep simulated disks that their own observers hold. Long stacks of
# each allocation, and keeping frames that were left, cost much time; where a block was allocated is told by two frames. The build is
# optimized: that is what applications run, and the optimizer counts fewer references than the debug build does.
address() {
  ASAN_OPTIONS=detect_leaks=0:malloc_context_size=2:max_malloc_fill_size=0:detect_stack_use_after_return=0:quarantine_size_mb=64 \
    tests -c release -Xswiftc -enable-testing --sanitize address --scratch-path .build/address
}
examples() {
  local package
  for package in Examples/*/; do
    tests --package-path "$package" --scratch-path "$PWD/.build/examples" || return 1
  done
  swift run --package-path Examples/Notes --scratch-path "$PWD/.build/examples" NotesDemo
}
demo() { swift run -c release daybook demo; }
smoke() { release_tool && Scripts/smoke.sh "$tool"; }
fuzz() { Fuzz/run.sh all "${DAYBOOK_FUZZ_SECONDS:-15}"; }
kills() { release_tool && DAYBOOK=$tool Scripts/kill.sh "${DAYBOOK_KILL_ROUNDS:-10}"; }

crashes() {
  Scripts/crash.sh exhaustive --length 1 | tail -n 60 &&
    Scripts/crash.sh exhaustive --length 2 --nested-every 8 | tail -n 60 &&
    Scripts/crash.sh 1 "${DAYBOOK_CRASHES:-200000}" | tail -n 60 &&
    Scripts/crash.sh tails 1 "${DAYBOOK_TAILS:-200000}" | tail -n 60 &&
    Scripts/crash.sh processes 1 "${DAYBOOK_PROCESSES:-100000}" | tail -n 60 &&
    Scripts/crash.sh threads 1 "${DAYBOOK_THREADS:-200000}" | tail -n 60
}
faults() { Scripts/faults.sh; }
assets() {
  local directory=${DAYBOOK_ASSET_DIRECTORY:-$(dirname "$(dirname "$(command -v swift)")")}
  release_tool && DAYBOOK=$tool Scripts/assets.sh "$directory" "${DAYBOOK_KILL_ROUNDS:-10}"
}
guards() { Scripts/guard.sh; }
mutants() { Scripts/mutants.sh; }
toyindex() {
  tests --scratch-path .build/toyindex -Xswiftc -DTOY_INDEX --filter \
    'FirstLetter|RecordModel|RecordCrash|CrashSearch|ReplayTests|Interleaving|CompactionTests|CheckpointTests|ReopenTests' \
    --filter 'BackupTests|SalvageTests|ReferenceTests|CascadeTests|AssetTests|ZoneTests|SmallZone|ZoneTree|Contribution' \
    --filter 'FormatTests/fixture'
}

parts=("$@")
[ ${#parts[@]} -eq 0 ] && parts=(build test format layers words rows demo smoke)
[ "${parts[*]}" = all ] && parts=(format layers words rows darwin test buffered builds examples demo smoke guard crash kill fuzz thread)
# Another build would link anew: the package manager names the sanitizers in another order each time.
[[ " ${parts[*]} " != *" builds "* ]] || export DAYBOOK_FUZZERS=built

for part in "${parts[@]}"; do
  case $part in
    build) step build build ;;
    builds) step "release and fuzzers" builds ;;
    test) step "swift test" tests ;;
    buffered) step "tests on files that are not mapped" buffered ;;
    format) step "format" format ;;
    layers) step "layers" layers ;;
    words) step "words" words ;;
    rows) step "rows" rows ;;
    client) step "a client package" client ;;
    darwin) step "sources for iOS" darwin ;;
    model) step "model test, ${DAYBOOK_MODEL_STEPS:-100000} steps" model ;;
    address) step "address sanitizer" address ;;
    thread) step "thread sanitizer" thread ;;
    demo) step "demo" demo ;;
    examples) step "examples" examples ;;
    smoke) step "smoke" smoke ;;
    crash) step "simulated crashes" crashes ;;
    kill) step "kill -9, ${DAYBOOK_KILL_ROUNDS:-10} rounds" kills ;;
    fuzz) step "fuzz, ${DAYBOOK_FUZZ_SECONDS:-15} s a target" fuzz ;;
    assets) step "assets" assets ;;
    faults) step "failure loops" faults ;;
    guard) step "guard" guards ;;
    mutants) step "mutants" mutants ;;
    toyindex) step "a tree more" toyindex ;;
    *)
      sed -n '2,40s/^# \{0,1\}//p' "$0" >&2
      exit 2
      ;;
  esac
done

if [ ${#failed[@]} -gt 0 ]; then
  cat "$told"
  printf 'failed: %s\n' "${failed[@]}"
  exit 1
fi
echo "all good after $SECONDS s"
