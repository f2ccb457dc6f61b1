#!/usr/bin/env bash
# The tool on real data, small: the extract of places that is bundled for the demo (GeoNames, CC BY 4.0).
#
#     Scripts/smoke.sh DAYBOOK        DAYBOOK is the built tool
set -euo pipefail
cd "$(dirname "$0")/.."
tool=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() { echo "  ✗ $*"; exit 1; }
promise() { echo "  ✓ $*"; }
# The number that a key of `info --json` has.
number() { "$tool" info "$1" --json | grep -oE "\"$2\" *: *[0-9]+" | head -n 1 | grep -oE '[0-9]+$'; }
status() { local status=0; "$@" >/dev/null 2>&1 || status=$?; echo "$status"; }

# The rows stand between the two """ of the Swift file.
sed -n '/static let csv = """/,/^ *"""$/p' Sources/DaybookTool/Demo/CitiesExtract.swift |
  sed -e '1d' -e '$d' -e 's/^    //' >"$work/cities.csv"
rows=$(($(grep -c . "$work/cities.csv") - 1))
[ "$rows" -gt 400 ] || fail "the extract has $rows rows"

db=$work/cities.daybook
"$tool" import "$db" "$work/cities.csv" --zone Places --type City --location lat,lon >/dev/null 2>&1
[ "$(number "$db" recordCount)" = "$rows" ] || fail "$(number "$db" recordCount) records of $rows rows"
promise "$rows rows are $rows records"

"$tool" dump "$db" >"$work/first.ndjson"
"$tool" import "$work/copy.daybook" "$work/first.ndjson" >/dev/null 2>&1
"$tool" dump "$work/copy.daybook" >"$work/second.ndjson"
cmp -s "$work/first.ndjson" "$work/second.ndjson" || fail "the dump of the imported dump differs"
promise "a dump that is imported gives the same dump"

"$tool" put "$work/copy.daybook" Notes first --type Note text=hello number=7 >/dev/null 2>&1
"$tool" get "$work/copy.daybook" Notes first --json | grep -q hello || fail "what was put is not there"
"$tool" delete "$work/copy.daybook" Notes first >/dev/null
[ "$(status "$tool" get "$work/copy.daybook" Notes first)" = 1 ] || fail "get of nothing does not exit with 1"
[ "$(status "$tool" get)" = 2 ] || fail "wrong usage does not exit with 2"
[ "$(status "$tool" info "$work/cities.csv")" = 3 ] || fail "a file that is no database does not exit with 3"
[ "$(status "$tool" info "$work/missing.daybook")" = 5 ] || fail "a missing file does not exit with 5"
promise "put, get, delete, and the exit statuses"

"$tool" export "$db" "$work/out.csv" >/dev/null 2>&1
[ "$(wc -l <"$work/out.csv")" -gt "$rows" ] || fail "the export has too few rows"
for command in "zones" "types" "log" "pages --tree" "info"; do
  # shellcheck disable=SC2086
  # shellcheck disable=SC2046 # the words of a command are its arguments
  "$tool" ${command%% *} "$db" $(echo "$command" | cut -s -d' ' -f2-) >/dev/null || fail "$command"
done
promise "export, zones, types, log, pages, info"

for file in "$db" "$work/copy.daybook"; do
  "$tool" check "$file" --deep >/dev/null || fail "check finds something in $file"
done
promise "every file checks clean"
