#!/usr/bin/env bash
# Looks for crashes that break a promise, on the simulated disk, in a release build.
#
#     Scripts/crash.sh exhaustive [--length N] [--from N] [--to M] [--state FILE] [--nested-every N]
#                      every sequence of at most N (3) operations on a fresh database × every crash point × every subset of
#                      what is pending, and crashes within the recoveries, three deep. With a state file an interrupted run goes
#                      on where it stopped; without one it starts anew. --nested-every cuts the recovery of one image in N only.
#                      --from and --to take some of the sequences, counted from 1: several processes share a run so, each with a
#                      state file of its own.
#     Scripts/crash.sh sum FILE…
#                      the counts of such state files together
#     Scripts/crash.sh SEED COUNT
#                      at least COUNT crashes of random runs: settings, operations, failing calls, kills, power losses
#     Scripts/crash.sh tails SEED COUNT
#                      at least COUNT damaged ends of logs: what is torn, what is corrupt, and what is lost
#     Scripts/crash.sh processes SEED COUNT
#                      one to three processes on one disk, under random schedules that change at calls of the disk: at least COUNT
#                      points where another could go on and images of crashes
#     Scripts/crash.sh processes exhaustive [--length N] [--from N] [--to M]
#                      two processes, every pair of scripts of at most N (1) steps, every place where one hands over and back
#     Scripts/crash.sh threads SEED COUNT
#                      threads of one database: writers, readers, checkpoints, compactions, under random schedules that change at its
#                      locks, too; points and images as above
#
# Prints each finding as the smallest run that still fails, with its seed, and the counts last. The exit status is 1 when there
# is a finding. The same seed finds the same on every machine.
set -euo pipefail
cd "$(dirname "$0")/.."

case ${1:-} in
  exhaustive | sum | tails | processes | threads) arguments=("$@") ;;
  [0-9]*) arguments=(swarm "$@") ;;
  *)
    sed -n '2,28s/^# \{0,1\}//p' "$0" >&2
    exit 2
    ;;
esac
swift build -c release --product DaybookCrash >/dev/null || { swift build -c release --product DaybookCrash; exit 1; }
exec "$(swift build -c release --show-bin-path)/DaybookCrash" "${arguments[@]}"
