#!/usr/bin/env bash
# The tool on whole data sets: movies.json (3,201 films) and cities.csv (144,563 places) in DIRECTORY.
#
#     Scripts/real-data.sh DIRECTORY  DAYBOOK names the built tool; without it a release build is made
#
# Where sqlite3 is installed, the places are put into SQLite, too: with their names, tags, dates and sequences, and indexes by type and
# by sequence. The compacted file must have at most 0.85 of the size of SQLite's. Sizes are the same on every machine.
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

# The places of the last `try` in SQLite, with what Daybook keeps of them: in columns, and vacuumed.
beside() { # COUNT
  local db=$work/first.daybook loaded compacted sqlite
  if ! command -v sqlite3 >/dev/null; then
    echo "    no sqlite3, so nothing to compare with"
    return
  fi
  tr '\n' '\036' <"$work/first.ndjson" >"$work/lines"
  sqlite3 "$work/places.sqlite" <<EOF || fail "sqlite3 fails"
CREATE TABLE lines(line TEXT);
.import --ascii $work/lines lines
CREATE TABLE City(name TEXT PRIMARY KEY, type TEXT, tag INTEGER, created REAL, modified REAL, sequence INTEGER,
  city TEXT, admin1 TEXT, admin2 TEXT, cc TEXT, latitude REAL, longitude REAL);
INSERT INTO City SELECT line->>'name', line->>'type', random(), 7.8e8 + rowid / 3.0, 7.8e8 + rowid / 3.0, rowid,
  line->>'\$.fields.name.value', line->>'\$.fields.admin1.value', line->>'\$.fields.admin2.value', line->>'\$.fields.cc.value',
  line->>'\$.fields.location.value.latitude', line->>'\$.fields.location.value.longitude' FROM lines;
DROP TABLE lines;
CREATE INDEX ByType ON City(type, name);
CREATE INDEX BySequence ON City(sequence);
VACUUM;
EOF
  [ "$(sqlite3 "$work/places.sqlite" 'SELECT count(*) FROM City')" = "$1" ] || fail "SQLite has not all of them"
  loaded=$(number "$db" fileByteCount)
  "$DAYBOOK" compact "$db" >/dev/null
  compacted=$(number "$db" fileByteCount)
  sqlite=$(wc -c <"$work/places.sqlite")
  awk -v l="$loaded" -v c="$compacted" -v s="$sqlite" 'BEGIN {
    printf "    loaded %d, compacted %d, SQLite %d bytes: %.2f and %.2f\n", l, c, s, l / s, c / s
    exit c > 0.85 * s
  }' || fail "the compacted file has more than 0.85 of SQLite's"
  echo "  ✓ the compacted file has at most 0.85 of SQLite's"
}

try movies.json 3201 --zone Library --type Movie
try cities.csv 144563 --zone Places --type City --location lat,lon
beside 144563
