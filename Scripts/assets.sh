#!/usr/bin/env bash
# Assets in real processes on a real disk: files of a directory saved in records, killed with kill -9 at random moments.
#
#     Scripts/assets.sh DIRECTORY ROUNDS     DAYBOOK names the built tool, without it a release build is made
#
# 750 different contents of DIRECTORY's files (0 bytes to 200 MB, the largest, an empty one, and others spread over all sizes)
# make 1,000 files, half of them equal in pairs. A program (Sources/DaybookTool/Trials/AssetTrial.swift) saves each in a record,
# deletes and replaces records in between, and collects, until it is killed; ROUNDS times. After each kill the records are those of its
# last step, none acknowledged missing, each asset there with its size, and after a collection no file too many. At the
# end sha256sum agrees with every name, and each content is there once. Then a file of 1 GB (DAYBOOK_LARGE_BYTES) is taken in, beside
# sha256sum and cp of it: measured three times each, the medians compared.
#
# Prints counts last; the exit status is 1 when there is a finding.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
directory=${1:?usage: Scripts/assets.sh DIRECTORY ROUNDS}
rounds=${2:?usage: Scripts/assets.sh DIRECTORY ROUNDS}
if ! { command -v sha256sum && command -v shuf && find . -prune -printf ''; } >/dev/null 2>&1; then
  echo "assets: sha256sum, shuf and find of GNU are needed" >&2
  exit 2
fi
largest=$((200 * 1000 * 1000))
# All different contents together; half a minute to hash.
budget=${DAYBOOK_ASSET_BYTES:-3000000000}

if [ -z "${DAYBOOK:-}" ]; then
  swift build -c release --product daybook >/dev/null || exit 1
  DAYBOOK=$(swift build -c release --show-bin-path)/daybook
fi
work=$(mktemp -d)
child=
trap '[ -n "$child" ] && kill -9 "$child" 2>/dev/null; rm -rf "$work"' EXIT

. Scripts/findings.sh

# MARK: which files

: >"$work/empty"
{ printf '0\t%s\n' "$work/empty"; find "$directory" -type f -size -"$((largest + 1))"c -printf '%s\t%p\n'; } |
  sort -n -k1,1 >"$work/all"
# The largest files first, as long as the budget lasts; the rest spread over all sizes.
awk -F'\t' -v budget="$budget" '{ size[NR] = $1; path[NR] = $2 } END {
  for (i = NR; i > 0 && taken < 20; i--) if (size[i] <= budget * 0.8 - sum) { pick[i] = 1; sum += size[i]; taken++ }
  pick[1] = 1
  step = NR / 1400; if (step < 1) step = 1
  for (i = 1; i <= NR; i += step) if (size[int(i)] <= (budget - sum) / 20) { pick[int(i)] = 1; sum += size[int(i)] }
  for (i = 1; i <= NR; i++) if (i in pick) print path[i]
}' "$work/all" >"$work/picked"
tr '\n' '\0' <"$work/picked" | xargs -0 sha256sum | sed 's/  /\t/' | sort -u -k1,1 | shuf --random-source=<(yes) >"$work/hashed"
# The empty one and the largest are among them.
{
  grep -F "$(printf '\t')$work/empty" "$work/hashed" || grep '^e3b0c44298fc1c14' "$work/hashed"
  grep -vE '^e3b0c44298fc1c14' "$work/hashed"
} | head -n 750 >"$work/contents"
contents=$(wc -l <"$work/contents")
[ "$contents" = 750 ] || { echo "$directory has $contents different contents of at most 200 MB, 750 are needed"; exit 2; }
# 500 files of their own, and 250 twice: the second time as a copy under another name.
mkdir "$work/copies"
head -n 250 "$work/contents" | while IFS=$'\t' read -r sum path; do
  cp "$path" "$work/copies/$sum" && printf '%s\t%s\n' "$sum" "$work/copies/$sum"
done >"$work/second"
cat "$work/contents" "$work/second" | shuf --random-source=<(yes 1) >"$work/list"
files=$(wc -l <"$work/list")
bytes=$(cut -f2 "$work/list" | tr '\n' '\0' | xargs -0 stat -L -c %s | awk '{ s += $1; if ($1 > m) m = $1 } END { print s " " m }')
[ "$files" = 1000 ] || finding "$files files instead of 1,000"
echo "$files files of 0 to ${bytes#* } bytes, ${bytes% *} bytes together, $contents different contents"

# MARK: kills

file=$work/assets.daybook
kills=0 acknowledged=0 steps=0
verify() { # ACKNOWLEDGED WORDS OPTION …
  local durable=$1 words=$2
  shift 2
  steps=$("$DAYBOOK" trial-asset-verifier "$file" "$work/list" "$durable" "$@" 2>"$work/verdict") ||
    finding "$words: $(head -n 5 "$work/verdict")"
}
start=$SECONDS
for round in $(seq 1 "$rounds"); do
  : >"$work/acknowledged"
  "$DAYBOOK" trial-asset-writer "$file" "$work/list" >"$work/acknowledged" 2>"$work/messages" &
  child=$!
  if [ $((RANDOM % 3)) = 0 ]; then pause "$(random 100)"; else pause "$(random 3000)"; fi
  kill -9 "$child" 2>/dev/null
  wait "$child" 2>/dev/null
  child=
  kills=$((kills + 1))
  [ -s "$work/messages" ] && finding "round $round: $(head -n 3 "$work/messages")"
  last=$(tr '\n' ' ' <"$work/acknowledged" | grep -oE '[0-9]+ ' | tail -n1 | tr -d ' ')
  acknowledged=${last:-$acknowledged}
  [ -e "$file" ] || continue
  # All bytes each tenth time, and at the end.
  if [ $((round % 10)) = 0 ]; then verify "$acknowledged" "round $round" --deep; else verify "$acknowledged" "round $round"; fi
done
echo "$kills kills in $((SECONDS - start)) s, $acknowledged steps acknowledged, $steps in the file"

# MARK: all of them

# Through all saves at least.
end=$((steps < 1340 ? 1340 : steps + 1))
"$DAYBOOK" trial-asset-writer "$file" "$work/list" --steps "$end" >/dev/null 2>"$work/messages" ||
  finding "the last steps: $(head -n 3 "$work/messages")"
verify "$end" "at the end" --deep
"$DAYBOOK" assets "$file" collect --grace 0 >/dev/null || finding "the last collection failed"
check_names() { # WORDS EXPECTED
  (cd "$file.assets" && find . -type f -path './??/*' -printf '%f  %p\n') >"$work/sums"
  (cd "$file.assets" && sha256sum --quiet -c "$work/sums") >"$work/verdict" 2>&1 ||
    finding "$1: sha256sum: $(head -n 3 "$work/verdict")"
  [ "$(wc -l <"$work/sums")" = "$2" ] || finding "$1: $(wc -l <"$work/sums") files, expected $2"
  others=$(cd "$file.assets" && find . -type f ! -path './??/*' ! -path './unreferenced')
  [ -z "$others" ] || finding "$1: left over: $others"
}
named=$("$DAYBOOK" assets "$file" | awk 'NR > 1 && $4 == "stored"' | wc -l)
check_names "after $end steps" "$named"
echo "after $end steps: $named contents named, as many files, sha256sum agrees with each name"

# The 1,000 files once more, with nothing in between: each content once.
rm -rf "$file"*
"$DAYBOOK" trial-asset-writer "$file" "$work/list" --steps 1000 --ordered >/dev/null 2>"$work/messages" ||
  finding "1,000 saves: $(head -n 3 "$work/messages")"
check_names "1,000 records" "$contents"
names=$("$DAYBOOK" assets "$file" | awk 'NR > 1 { s += $3 } END { print s }')
[ "$names" = 1000 ] || finding "$names names instead of 1,000"
stored=$(cd "$file.assets" && find . -type f -printf '%s\n' | awk '{ s += $1 } END { print s }')
echo "1,000 records name $names assets in $(wc -l <"$work/sums") files, $stored bytes instead of ${bytes% *}"
rm -rf "$file"* "$work/copies"

# MARK: one large file

large=${DAYBOOK_LARGE_BYTES:-1073741824}
head -c "$large" /dev/urandom >"$work/large"
sync "$work/large"
timed() { # COMMAND …: milliseconds
  local begin
  begin=$(milliseconds)
  "$@" >/dev/null 2>&1 || finding "$* failed"
  echo $(($(milliseconds) - begin))
}
median() { sort -n | sed -n 2p; }
: >"$work/hash"; : >"$work/copy"; : >"$work/ingest"
for _ in 1 2 3; do
  timed sha256sum "$work/large" >>"$work/hash"
  timed cp "$work/large" "$work/large.copy" >>"$work/copy"
  rm "$work/large.copy"
  timed "$DAYBOOK" put "$file" Files large --type File "content:asset=$work/large" >>"$work/ingest"
  rm -rf "$file"*
  sync "$work"
done
"$DAYBOOK" trial-hash "$work/large" >"$work/own"
sum=$(sha256sum "$work/large" | cut -d' ' -f1)
[ "$sum" = "$(cut -d' ' -f1 "$work/own")" ] || finding "another SHA-256 than sha256sum"
hash=$(median <"$work/hash") copy=$(median <"$work/copy") ingest=$(median <"$work/ingest")
echo "$large bytes: sha256sum $hash ms, cp $copy ms, ingest (hashed, copied, synced) $ingest ms:" \
  "$(awk -v a="$ingest" -v b="$((hash + copy))" 'BEGIN { printf "%.2f", a / b }') of the two together"
# By the processor's time, because other work on the machine is no matter here.
seconds() {
  local TIMEFORMAT=%U
  { time "$@" >/dev/null 2>&1; } 2>&1
}
own=$(seconds "$DAYBOOK" trial-hash "$work/large") theirs=$(seconds sha256sum "$work/large")
awk -v n="$large" -v a="$own" -v b="$theirs" 'BEGIN {
  printf "SHA-256 in plain Swift %.0f MB for each second of the processor, sha256sum %.0f\n", n / 1e6 / a, n / 1e6 / b
}'

echo "$kills kills, $findings findings"
[ "$findings" = 0 ]
