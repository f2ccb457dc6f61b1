#!/usr/bin/env bash
# Kills an import with kill -9 at random moments and looks at what is left.
#
#     Scripts/kill.sh ROUNDS          DAYBOOK names the built tool; without it a release build is made
#
# After each kill the file must check clean before and after it was recovered by a writer, hold a whole number of batches, hold
# every row whose batch was acknowledged, and these with their values. A kill of the process proves nothing about power
# loss: the system keeps what was written. Power loss is simulated in the tests.
set -uo pipefail
cd "$(dirname "$0")/.."
rounds=${1:?usage: Scripts/kill.sh ROUNDS}
rowCount=${DAYBOOK_KILL_ROWS:-60000}
batch=1000

if [ -z "${DAYBOOK:-}" ]; then
  swift build -c release --product daybook >/dev/null || exit 1
  DAYBOOK=$(swift build -c release --show-bin-path)/daybook
fi
work=$(mktemp -d)
child=
trap '[ -n "$child" ] && kill -9 "$child" 2>/dev/null; rm -rf "$work"' EXIT

awk -v n="$rowCount" 'BEGIN {
  print "id,name,number,score"
  for (i = 1; i <= n; i++) printf "row%07d,name of row %d,%d,%.2f\n", i, i, i * 7, i / 3
}' >"$work/rows.csv"

start_import() { # FILE
  "$DAYBOOK" import "$1" "$work/rows.csv" --zone Rows --type Row --id id --acknowledge \
    >"$work/acknowledged" 2>"$work/messages" &
  child=$!
}
milliseconds() { echo $(($(date +%s%N) / 1000000)); }
# The last complete line: what the kill cut does not count.
acknowledged() { tr '\n' ' ' <"$work/acknowledged" | grep -oE '[0-9]+ ' | tail -n1 | tr -d ' '; }
# The names of the records of the zone, one a line. Nothing when the zone is not there yet.
names() { "$DAYBOOK" dump "$1" --zone Rows 2>/dev/null | sed -n 's/.*"name":"\(row[0-9]*\)".*/\1/p'; }

# Once to the end, to know how long it takes.
begin=$(milliseconds)
start_import "$work/whole.daybook"
wait "$child" || { echo "the import fails even when nobody kills it:"; cat "$work/messages"; exit 1; }
child=
duration=$(($(milliseconds) - begin))
[ "$(names "$work/whole.daybook" | wc -l)" = "$rowCount" ] || { echo "the import lost rows"; exit 1; }
rm -f "$work"/whole.daybook*
echo "$rowCount rows take $duration ms; killing at $rounds random moments"

findings=0 beforeFirst=0 afterLast=0 beyond=0 rowsTotal=0 discarded=0
finding() { echo "round $round: $*"; findings=$((findings + 1)); }

for round in $(seq 1 "$rounds"); do
  file=$work/round.daybook
  rm -f "$file"*
  # 15 bits of $RANDOM are not enough for long imports.
  delay=$(((RANDOM * 32768 + RANDOM) % (duration + 1)))
  : >"$work/acknowledged"
  start_import "$file"
  sleep "$(awk -v m="$delay" 'BEGIN { printf "%.3f", m / 1000 }')"
  kill -9 "$child" 2>/dev/null
  wait "$child" 2>/dev/null
  child=

  durable=$(acknowledged)
  durable=${durable:-0}
  if [ ! -e "$file" ]; then
    beforeFirst=$((beforeFirst + 1))
    [ "$durable" = 0 ] || finding "$durable rows were acknowledged, and there is no file"
    continue
  fi
  # Read-only, before anybody has recovered the file.
  "$DAYBOOK" check "$file" >"$work/check" 2>&1 || { finding "check before recovery:"; cat "$work/check"; }
  names "$file" >"$work/names.before"
  # A writer recovers it, and writes on.
  "$DAYBOOK" put "$file" Probe "probe$round" --type Probe "delay=$delay" >"$work/put" 2>&1 ||
    { finding "put after the kill:"; cat "$work/put"; }
  "$DAYBOOK" check "$file" --deep >"$work/check" 2>&1 || { finding "check after recovery:"; cat "$work/check"; }
  names "$file" >"$work/names"
  cmp -s "$work/names" "$work/names.before" || finding "recovery changed what is there"

  count=$(wc -l <"$work/names")
  rowsTotal=$((rowsTotal + count))
  [ $((count % batch)) = 0 ] || [ "$count" = "$rowCount" ] || finding "$count rows are no whole number of batches"
  [ "$count" -ge "$durable" ] || finding "$durable rows were acknowledged, $count are there"
  # The rows are named in their order, so the first `count` of the input are what must be there.
  head -n $((count + 1)) "$work/rows.csv" | tail -n +2 | cut -d, -f1 | cmp -s - "$work/names" ||
    finding "the rows that are there are not the first $count of the input"
  if [ "$durable" -gt 0 ]; then
    "$DAYBOOK" get "$file" Rows "$(printf 'row%07d' "$durable")" --json 2>/dev/null |
      grep -q "name of row $durable\"" || finding "row $durable has other values"
  fi
  [ "$count" = 0 ] && beforeFirst=$((beforeFirst + 1))
  [ "$count" = "$rowCount" ] && afterLast=$((afterLast + 1))
  [ "$count" -gt "$durable" ] && beyond=$((beyond + 1))
  compgen -G "$file.discarded-*" >/dev/null && discarded=$((discarded + 1))
done

echo "$rounds kills: $findings findings; $rowsTotal rows survived"
echo "  before the first batch $beforeFirst, after the last $afterLast; in $beyond one batch more than acknowledged was there;"
echo "  in $discarded recovery kept a copy of an unfinished write"
[ "$findings" = 0 ]
