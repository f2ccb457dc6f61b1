#!/usr/bin/env bash
# Real processes on a real disk: killed with kill -9 at random moments, fighting for the lock, read from beside, without room.
#
#     Scripts/kill.sh ROUNDS          everything; DAYBOOK names the built tool, without it a release build is made
#     Scripts/kill.sh ROUNDS PART …   only these parts
#
# Parts:
#     programs  ten programs that write in steps (Sources/DaybookTool/Trials), each killed ROUNDS times
#     import    `daybook import`, killed ROUNDS times
#     readers   processes that read beside a writer, its checkpoints and its kills, some of them killed, too
#     lock      three writers that want one file, one of them killed in each round
#     turns     three writers that share one file transaction by transaction, killed in the same way
#     full      a disk without room: a small tmpfs, where this user may mount one
#     limit     a file that may not grow (RLIMIT_FSIZE, with SIGXFSZ ignored)
#
# After each kill the file must check clean before and after a writer recovered it, and hold exactly what the steps up to its last
# one leave, none acknowledged missing. A kill of the process proves nothing about power loss: the system keeps what was
# written. Power loss is simulated in the tests.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
rounds=${1:?usage: Scripts/kill.sh ROUNDS [PART …]}
shift
parts=("$@")
[ ${#parts[@]} -eq 0 ] && parts=(programs import readers lock turns full limit)
kinds=(single batches deletes zones parts relaxed checkpoints reopening updates compactions)

if [ -z "${DAYBOOK:-}" ]; then
  swift build -c release --product daybook >/dev/null || exit 1
  DAYBOOK=$(swift build -c release --show-bin-path)/daybook
fi
work=$(mktemp -d)
mounted=
children=()
cleanup() {
  [ ${#children[@]} -gt 0 ] && kill -9 "${children[@]}" 2>/dev/null
  [ -n "$mounted" ] && umount "$mounted"
  rm -rf "$work"
}
trap cleanup EXIT

. Scripts/findings.sh
# The last number on a complete line: what the kill cut does not count.
acknowledged() { tr '\n' ' ' <"$1" | grep -oE '[0-9]+ ' | tail -n1 | tr -d ' '; }
slay() { # PID
  kill -9 "$1" 2>/dev/null
  wait "$1" 2>/dev/null
}

# Holds a file against its program; leaves its last step in `step`.
verify() { # KIND FILE ACKNOWLEDGED WORDS
  step=$("$DAYBOOK" trial-verifier "$1" "$2" "$3" 2>"$work/verdict") || finding "$4: $(head -n 5 "$work/verdict")"
  step=${step:-0}
}

# MARK: programs

programs() {
  local kind round file durable step kills beyond steps begin
  for kind in "${kinds[@]}"; do
    kills=0 beyond=0 steps=0 begin=$(milliseconds)
    file=$work/$kind.daybook
    for round in $(seq 1 "$rounds"); do
      # A new file now and then, so that kills hit its creation, and none grows for ever.
      if [ $((round % 5)) = 1 ] || [ "$(($(wc -c 2>/dev/null <"$file" || echo 0)))" -gt 50000000 ]; then rm -f "$file"*; fi
      # Before the child, which may be killed before it has emptied them.
      : >"$work/acknowledged"
      : >"$work/messages"
      "$DAYBOOK" trial-writer "$kind" "$file" >"$work/acknowledged" 2>"$work/messages" &
      children=($!)
      # Half of the kills come early, where files are made and opened.
      if [ $((RANDOM % 2)) = 0 ]; then pause "$(random 20)"; else pause "$(random 300)"; fi
      slay "${children[0]}"
      children=()
      [ -s "$work/messages" ] && finding "$kind, round $round: $(head -n 3 "$work/messages")"
      kills=$((kills + 1))
      durable=$(acknowledged "$work/acknowledged")
      if [ ! -e "$file" ]; then
        [ -z "$durable" ] || finding "$kind, round $round: step $durable was acknowledged, and there is no file"
        continue
      fi
      verify "$kind" "$file" "${durable:-0}" "$kind, round $round"
      [ "$step" -gt "${durable:-0}" ] && [ -n "$durable" ] && beyond=$((beyond + 1))
      steps=$((steps + step))
    done
    rm -f "$file"*
    echo "program $kind: $kills kills, $beyond times one step more than acknowledged was there, $(($(milliseconds) - begin)) ms"
  done
}

# MARK: import

importKills() {
  local rowCount=${DAYBOOK_KILL_ROWS:-60000} batch=1000 begin duration round file delay durable count beyond=0 rowsTotal=0
  awk -v n="$rowCount" 'BEGIN {
    print "id,name,number,score"
    for (i = 1; i <= n; i++) printf "row%07d,name of row %d,%d,%.2f\n", i, i, i * 7, i / 3
  }' >"$work/rows.csv"
  start_import() { # FILE
    : >"$work/acknowledged"
    "$DAYBOOK" import "$1" "$work/rows.csv" --zone Rows --type Row --id id --acknowledge \
      >"$work/acknowledged" 2>"$work/messages" &
    children=($!)
  }
  # The names of the records of the zone, one a line. Nothing when the zone is not there yet.
  names() { "$DAYBOOK" dump "$1" --zone Rows 2>/dev/null | sed -n 's/.*"name":"\(row[0-9]*\)".*/\1/p'; }

  # Once to the end, to know how long it takes.
  begin=$(milliseconds)
  start_import "$work/whole.daybook"
  wait "${children[0]}" || { finding "the import fails even when nobody kills it: $(cat "$work/messages")"; return; }
  children=()
  duration=$(($(milliseconds) - begin))
  [ "$(names "$work/whole.daybook" | wc -l)" -eq "$rowCount" ] || finding "the import lost rows"
  rm -f "$work"/whole.daybook*

  file=$work/round.daybook
  for round in $(seq 1 "$rounds"); do
    rm -f "$file"*
    delay=$(random $((duration + 1)))
    start_import "$file"
    pause "$delay"
    slay "${children[0]}"
    children=()
    durable=$(acknowledged "$work/acknowledged")
    durable=${durable:-0}
    if [ ! -e "$file" ]; then
      [ "$durable" = 0 ] || finding "import, round $round: $durable rows were acknowledged, and there is no file"
      continue
    fi
    # Read-only, before anybody has recovered the file.
    "$DAYBOOK" check "$file" >"$work/check" 2>&1 ||
      finding "import, round $round, check before recovery: $(head -n 5 "$work/check")"
    names "$file" >"$work/names.before"
    # A writer recovers it, and writes on.
    "$DAYBOOK" put "$file" Probe "probe$round" --type Probe "delay=$delay" >"$work/put" 2>&1 ||
      finding "import, round $round, put after the kill: $(head -n 5 "$work/put")"
    "$DAYBOOK" check "$file" --deep >"$work/check" 2>&1 ||
      finding "import, round $round, check after recovery: $(head -n 5 "$work/check")"
    names "$file" >"$work/names"
    cmp -s "$work/names" "$work/names.before" || finding "import, round $round: recovery changed what is there"
    count=$(wc -l <"$work/names")
    rowsTotal=$((rowsTotal + count))
    [ $((count % batch)) = 0 ] || [ "$count" = "$rowCount" ] || finding "import, round $round: $count rows are no whole batches"
    [ "$count" -ge "$durable" ] || finding "import, round $round: $durable rows were acknowledged, $count are there"
    # The rows are named in their order, so the first `count` of the input are what must be there.
    head -n $((count + 1)) "$work/rows.csv" | tail -n +2 | cut -d, -f1 | cmp -s - "$work/names" ||
      finding "import, round $round: the rows that are there are not the first $count of the input"
    if [ "$durable" -gt 0 ]; then
      "$DAYBOOK" get "$file" Rows "$(printf 'row%07d' "$durable")" --json 2>/dev/null |
        grep -q "name of row $durable\"" || finding "import, round $round: row $durable has other values"
    fi
    [ "$count" -gt "$durable" ] && beyond=$((beyond + 1))
  done
  rm -f "$file"*
  echo "import of $rowCount rows ($duration ms): $rounds kills, $beyond times one batch more than acknowledged, $rowsTotal rows survived"
}

# MARK: readers

readers() {
  local mix=(checkpoints zones single parts) left=$rounds round=0 kind file durable step reader victim last kills=0 looks=0
  while [ "$left" -gt 0 ]; do
    kind=${mix[$((round % 4))]}
    file=$work/read.daybook
    rm -f "$file"* "$work/stop"
    children=()
    for reader in 1 2 3; do
      "$DAYBOOK" trial-reader "$kind" "$file" "$work/stop" >"$work/reader$reader" 2>&1 &
      children+=($!)
    done
    for _ in 1 2 3 4 5; do
      [ "$left" -gt 0 ] || break
      left=$((left - 1))
      "$DAYBOOK" trial-writer "$kind" "$file" >"$work/acknowledged" 2>"$work/messages" &
      children+=($!)
      "$DAYBOOK" trial-reader "$kind" "$file" "$work/stop" >/dev/null 2>&1 &
      victim=$!
      pause $((20 + $(random 250)))
      slay "$victim"
      last=$((${#children[@]} - 1))
      slay "${children[$last]}"
      unset "children[$last]"
      kills=$((kills + 1))
      [ -s "$work/messages" ] && finding "writer of $kind beside readers: $(head -n 3 "$work/messages")"
      # Readers alone with what the kill left.
      pause "$(random 50)"
    done
    : >"$work/stop"
    for reader in 1 2 3; do
      wait "${children[$((reader - 1))]}" || finding "reader $reader of $kind: $(head -n 3 "$work/reader$reader")"
      looks=$((looks + $(grep -oE '^[0-9]+ looks' "$work/reader$reader" | grep -oE '[0-9]+' || echo 0)))
    done
    children=()
    durable=$(acknowledged "$work/acknowledged")
    verify "$kind" "$file" "${durable:-0}" "$kind beside readers"
    round=$((round + 1))
  done
  rm -f "$file"*
  echo "readers: three beside a writer, $kills kills of writer and of a fourth reader, $looks looks"
}

# MARK: lock

lock() { rivals lock single "give the file back after five steps" --turns 5; }

# As `lock`, but the file stays open, and only each transaction is the holder's alone; some of them compact.
turns() {
  rivals turns single "take turns" --shared
  rivals turns compactions "take turns and compact" --shared
}

rivals() { # PART KIND WORDS FLAG …
  local part=$1 kind=$2 words=$3 file=$work/lock.daybook round slot count=0 step newest turns=0
  shift 3
  local flags=("$@")
  rm -f "$file"* "$work"/turn-*
  start_rival() { # SLOT
    count=$((count + 1))
    "$DAYBOOK" trial-writer "$kind" "$file" ${flags[@]+"${flags[@]}"} >"$work/turn-$count" 2>"$work/turn-messages-$count" &
    children[$1]=$!
  }
  children=()
  for slot in 0 1 2; do start_rival "$slot"; done
  for round in $(seq 1 "$rounds"); do
    pause $((100 + $(random 300)))
    slot=$(random 3)
    slay "${children[$slot]}"
    start_rival "$slot"
  done
  pause 300
  for slot in 0 1 2; do slay "${children[$slot]}"; done
  children=()
  cat "$work"/turn-messages-* >"$work/messages"
  [ -s "$work/messages" ] && finding "rivals: $(head -n 3 "$work/messages")"
  # Whole lines only. Two writers at one time would tell the same step twice.
  for slot in $(seq 1 "$count"); do tr '\n' ' ' <"$work/turn-$slot" | grep -oE '[0-9]+ '; done | tr -d ' ' | sort -n >"$work/steps"
  [ -z "$(uniq -d "$work/steps")" ] || finding "rivals: steps $(uniq -d "$work/steps" | head -n 5 | tr '\n' ' ')were acknowledged twice"
  newest=$(tail -n 1 "$work/steps")
  verify "$kind" "$file" "${newest:-0}" "rivals that $words"
  turns=$(wc -l <"$work/steps")
  [ "$turns" -gt 0 ] || finding "rivals: nobody wrote"
  rm -f "$file"*
  echo "$part: three writers that $words, $rounds kills, $turns steps acknowledged, $step in the file"
}

# MARK: no room

# Writes until there is no room, looks at the file, and goes on when there is room again.
fill() { # KIND FILE WORDS COMMAND …: the command runs what follows it without room
  local kind=$1 file=$2 words=$3 durable
  shift 3
  "$@" "$DAYBOOK" trial-writer "$kind" "$file" --ballast >"$work/acknowledged" 2>"$work/messages" ||
    finding "$words, $kind: $(head -n 3 "$work/messages")"
  tail -n 1 "$work/acknowledged" | grep -q '^full [1-9]' || finding "$words, $kind: the writer did not say how much it needs"
  grep -v full "$work/acknowledged" >"$work/numbers"
  durable=$(acknowledged "$work/numbers")
  # The ballast is deleted, so the model knows everything that is there.
  verify "$kind" "$file" "${durable:-0}" "$words, $kind"
  [ "$step" = "${durable:-0}" ] || finding "$words, $kind: step $step is there, refused after $durable"
}

go_on() { # KIND FILE WORDS
  "$DAYBOOK" trial-writer "$1" "$2" --steps 5 >"$work/acknowledged" 2>"$work/messages" ||
    finding "$3, $1, with room again: $(head -n 3 "$work/messages")"
  verify "$1" "$2" "$(acknowledged "$work/acknowledged")" "$3, $1, with room again"
}

without_room() { "$@"; }

full() {
  local kind step count=0
  mkdir "$work/small"
  if ! mount -t tmpfs -o size=1m none "$work/small" 2>/dev/null; then
    echo "full: this user may not mount a tmpfs; FaultLoopTests has the simulated one"
    return
  fi
  mounted=$work/small
  for kind in "${kinds[@]}"; do
    rm -f "$mounted"/*
    mount -o remount,size=1m "$mounted"
    fill "$kind" "$mounted/full.daybook" "full disk" without_room
    mount -o remount,size=16m "$mounted"
    go_on "$kind" "$mounted/full.daybook" "full disk"
    count=$((count + 1))
  done
  umount "$mounted"
  mounted=
  echo "full: $count programs on a tmpfs of 1 MB: refused with the bytes needed, a delete succeeded, and with room they went on"
}

with_limit() {
  (
    # Ignored, so that the call fails with EFBIG; otherwise the signal ends the process, which is a kill like any other.
    trap '' XFSZ
    ulimit -f 1024
    exec "$@"
  )
}

limit() {
  local kind step count=0
  for kind in "${kinds[@]}"; do
    # A file that is compacted every few steps never reaches the limit.
    [ "$kind" = compactions ] && continue
    rm -f "$work"/limit.daybook*
    fill "$kind" "$work/limit.daybook" "RLIMIT_FSIZE" with_limit
    go_on "$kind" "$work/limit.daybook" "RLIMIT_FSIZE"
    count=$((count + 1))
  done
  rm -f "$work"/limit.daybook*
  echo "limit: $count programs with files of at most 1 MB (EFBIG): the same"
}

start=$SECONDS
for part in "${parts[@]}"; do
  case $part in
    programs) programs ;;
    import) importKills ;;
    readers) readers ;;
    lock) lock ;;
    turns) turns ;;
    full) full ;;
    limit) limit ;;
    *) sed -n '2,20s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
  esac
done
echo "$findings findings after $((SECONDS - start)) s"
[ "$findings" = 0 ]
