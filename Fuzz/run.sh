#!/usr/bin/env bash
# Builds and runs the fuzzers.
#
#     Fuzz/run.sh list                     the targets
#     Fuzz/run.sh build                    builds them, and no more
#     Fuzz/run.sh TARGET SECONDS           fuzzes one target
#     Fuzz/run.sh all SECONDS              each target for so long
#     Fuzz/run.sh TARGET FILE …            replays inputs once, with the address sanitizer
#     Fuzz/run.sh keep TARGET SECONDS      as the second, then the smallest set of inputs that covers as much is the corpus
#
# Starts from corpus/TARGET and failures/TARGET. New inputs stay in a temporary directory. What is found is saved in
# failures/TARGET. The last line says what was done; the exit status is 1 when something was found.
#
# DAYBOOK_FUZZ_OPTIONS goes to libFuzzer, for instance "-seed=1". With DAYBOOK_FUZZERS=built nothing is built before.
set -uo pipefail
origin=$PWD
cd "$(dirname "$0")" || exit 2

targets=(open page frame body value token csv json predicate operations)
# A finding is also: an input that takes longer than this many seconds, more memory than this, one allocation above that.
timeoutSeconds=10
memoryMegabytes=1024
allocationMegabytes=64

usage() {
  sed -n '2,15s/^# \{0,1\}//p' "$(basename "$0")" >&2
  exit 2
}

isTarget() { printf '%s\n' "${targets[@]}" | grep -qx -- "$1"; }

program() { echo ".build/release/Fuzz$(tr '[:lower:]' '[:upper:]' <<<"${1:0:1}")${1:1}"; }

# Optimised, with the checks of a debug build: ten times as many inputs a second. Swift's own choice of coverage for the fuzzer
# (trace-pc-guard) is one that libFuzzer has given up, so it is named here; comparisons are not traced: that took a fifth of the
# time, and where the bytes of an input become a file or a script, what is compared is none of them.
#
# The address sanitizer looks at memory through calls. Looked at in line, each access has two branches, which count as edges: half of
# all, none of them the library's, and libFuzzer goes over all edges after each input.
#
# The compiler takes the last sanitizer that it is told of, and the package manager names the two in an order that changes from
# build to build: the address sanitizer is named again after both, or every other build would go without it.
#
# An object counts as made where the code is the same before it is optimised, whatever the optimiser has been told: when the flags
# change, everything is built again.
build() {
  [ "${DAYBOOK_FUZZERS:-}" != built ] || return 0
  local log target flags=(
    --sanitize fuzzer --sanitize address -Xswiftc -parse-as-library
    -Xswiftc -sanitize-coverage=edge,inline-8bit-counters,pc-table
    -Xswiftc -Xllvm -Xswiftc -asan-instrumentation-with-call-threshold=0
    -Xswiftc -assert-config -Xswiftc Debug -Xswiftc -sanitize=address
  )
  if [ -d .build ] && [ "$(cat .build/flags 2>/dev/null)" != "${flags[*]}" ]; then rm -rf .build; fi
  log=$(mktemp)
  if ! swift build -c release "${flags[@]}" >"$log" 2>&1; then
    grep -v 'Cannot export local symbol' "$log" | tail -n 40
    rm -f "$log"
    exit 1
  fi
  rm -f "$log"
  echo "${flags[*]}" >.build/flags
  for target in "${targets[@]}"; do ln -sf Fuzz "$(program "$target")"; done
}

# Swift's own printer of crashes hangs under the sanitizer; libFuzzer prints one. While fuzzing, where a block was allocated is
# not remembered: that took a third of the time; replaying a file tells. Neither are blocks filled, nor frames of the stack kept that were
# left, which Swift never looks at again: a tenth. Blocks that were freed are kept until four megabytes more were: an input frees two
# or three. With sixteen, and with memory given back to the system every five seconds, an allocation got memory that the processor
# did not have near, which took an eighth of the time.
export SWIFT_BACKTRACE=enable=no
asanOptions=detect_leaks=0:allocator_may_return_null=1
export ASAN_OPTIONS=$asanOptions:malloc_context_size=0:max_malloc_fill_size=0:detect_stack_use_after_return=0:quarantine_size_mb=4:allocator_release_to_os_interval_ms=-1:${DAYBOOK_ASAN_OPTIONS:-}

fuzz() { # TARGET SECONDS [DIRECTORY]
  local target=$1 seconds=$2 new=${3:-} log status runs cov found
  local temporary
  temporary=$(mktemp -d)
  [ -n "$new" ] || new=$temporary/new
  mkdir -p "$new" "corpus/$target" "failures/$target"
  log=$temporary/log
  found=$(find "failures/$target" -type f | wc -l)
  local dictionary=()
  [ -f "$target.dict" ] && dictionary=("-dict=$target.dict")
  # Each of their inputs reaches thousands of edges, and choosing among inputs by how rare each edge is takes longer than running
  # them: without it they reach more in the same time.
  local choice=()
  [[ $target == open || $target == operations ]] && choice=(-entropic=0)
  # Names of functions that are new take a program that looks them up, and leaks are not looked for.
  # shellcheck disable=SC2086
  "$(program "$target")" "$new" "corpus/$target" "failures/$target" ${dictionary[@]+"${dictionary[@]}"} ${choice[@]+"${choice[@]}"} -max_total_time="$seconds" \
    -timeout=$timeoutSeconds -rss_limit_mb=$memoryMegabytes -malloc_limit_mb=$allocationMegabytes \
    -max_len=8192 -print_funcs=0 -detect_leaks=0 -artifact_prefix="failures/$target/" -print_final_stats=1 ${DAYBOOK_FUZZ_OPTIONS:-} >"$log" 2>&1
  status=$?
  if [ $status -ne 0 ]; then
    grep -avE '^#[0-9]+|^INFO|^stat::' "$log" | tail -n 60
    [ "$(find "failures/$target" -type f | wc -l)" -eq "$found" ] && echo "an input that is known fails again"
  fi
  runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
  cov=$(grep -aoE 'cov: [0-9]+' "$log" | tail -n 1)
  echo "$target: ${runs:-0} inputs in $seconds s, ${cov:-cov: 0}, $([ $status -eq 0 ] && echo "nothing found" || echo "FOUND something")"
  rm -rf "$temporary"
  return "$([ $status -eq 0 ] && echo 0 || echo 1)"
}

keep() { # TARGET SECONDS
  local work status
  work=$(mktemp -d)
  fuzz "$1" "$2" "$work"
  status=$?
  mkdir "$work.small"
  "$(program "$1")" -merge=1 -max_len=4096 "$work.small" "corpus/$1" "$work" >/dev/null 2>&1
  # The smallest that reach furthest would be thousands; a few dozen show the way.
  rm -rf "corpus/$1" && mkdir -p "corpus/$1"
  find "$work.small" -type f -exec wc -c {} \; | sort -rn | awk -v n=40 '
    { line[NR] = $2 } END { step = NR > n ? NR / n : 1; for (i = 1; i <= NR; i += step) print line[int(i)] }' |
    while read -r file; do cp "$file" "corpus/$1/"; done
  rm -rf "$work" "$work.small"
  echo "$1: $(find "corpus/$1" -type f | wc -l) inputs kept"
  return $status
}

case ${1:-} in
  list) printf '%s\n' "${targets[@]}" ;;
  build) build ;;
  all)
    [[ ${2:-} =~ ^[0-9]+$ ]] || usage
    build
    failed=0
    for target in "${targets[@]}"; do fuzz "$target" "$2" || failed=1; done
    exit $failed
    ;;
  keep)
    isTarget "${2:-}" && [[ ${3:-} =~ ^[0-9]+$ ]] || usage
    build
    keep "$2" "$3"
    ;;
  *)
    isTarget "${1:-}" && [ $# -ge 2 ] || usage
    build
    if [[ $2 =~ ^[0-9]+$ ]]; then
      fuzz "$1" "$2"
    else
      target=$1
      shift
      files=()
      # Names are those of the caller's directory.
      for file in "$@"; do [[ $file == /* ]] && files+=("$file") || files+=("$origin/$file"); done
      ASAN_OPTIONS=$asanOptions "$(program "$target")" -timeout=$timeoutSeconds -rss_limit_mb=$memoryMegabytes -malloc_limit_mb=$allocationMegabytes "${files[@]}"
    fi
    ;;
esac
