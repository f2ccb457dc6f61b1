#!/usr/bin/env bash
# The tool on whole data sets: movies.json (3,201 films) and cities.csv (144,563 places) in DIRECTORY.
#
#     Scripts/real-data.sh DIRECTORY  DAYBOOK names the built tool; without it a release build is made
set -euo pipefail
directory=$(cd "${1:?usage: Scripts/real-data.sh DIRECTORY}" && pwd)
cd "$(dirname "$0")/.."
if [ -z "${DAYBOOK:-}" ]; then
  swift build -c release --product daybook >/dev/null
  DAYBOOK=$(swift build -c release --show-bin-path)/daybook
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. Scripts/findings.sh
fail() { echo "  ✗ $*"; exit 1; }
number() { "$DAYBOOK" info "$1" --json | grep -oE "\"$2\" *: *[0-9]+" | head -n 1 | grep -oE '[0-9]+$'; }

try() { # INPUT COUNT OPTIONS …
  local input=$1 count=$2 db=$work/first.daybook copy=$work/second.daybook begin
  shift 2
  rm -f "$work"/*
  echo "$input"
  begin=$(milliseconds)
  "$DAYBOOK" import "$db" "$directory/$input" "$@" 2>"$work/messages" | sed 's/^/    /'
  echo "    $(($(milliseconds) - begin)) ms"
  [ "$(number "$db" recordCount)" = "$count" ] || fail "$(number "$db" recordCount) records, not $count"
  echo "  ✓ $count records"
  "$DAYBOOK" dump "$db" >"$work/first.ndjson"
  "$DAYBOOK" dump "$db" | "$DAYBOOK" import "$copy" - >/dev/null 2>&1
  "$DAYBOOK" dump "$copy" | cmp -s - "$work/first.ndjson" || fail "the dump of the imported dump differs"
  echo "  ✓ a dump that is imported gives the same dump"
  "$DAYBOOK" check "$db" --deep >/dev/null && "$DAYBOOK" check "$copy" --deep >/dev/null || fail "check finds something"
  echo "  ✓ both files check clean; $(number "$db" fileByteCount) bytes"
}

try movies.json 3201 --zone Library --type Movie
try cities.csv 144563 --zone Places --type City --location lat,lon
