#!/usr/bin/env bash
# The scripts run with the shell and the tools of a Mac: bash 3.2 and those of BSD. Each line that uses what these lack is printed.
# With shellcheck installed its errors and warnings count, too.
#
#     Scripts/shell.sh                first itself, on seeded lines
#
# Not seen: "${list[@]}" of an empty list under `set -u`, which only later shells allow; write ${list[@]+"${list[@]}"}.
# Scripts/assets.sh needs the tools of GNU, and says so where they are missing.
set -uo pipefail
cd "$(dirname "$0")/.." || exit

bash4='mapfile|readarray|(declare|local|typeset) -[a-z]*[An]|\[-[0-9]+\]|\$\{[a-zA-Z_]+(,,?|\^\^?)\}|\$\{[a-zA-Z_]+@[A-Z]\}|&>>|\|&|wait -n|coproc|EPOCH(SECONDS|REALTIME)|printf .?%\('
gnu='stat -[a-zA-Z]*c|find .*-printf|sort -[a-zA-Z]*[zVR]|xargs [^|]*-r|sed -i|date (-d|--)|readlink -[a-z]*f|mktemp (-p|--)|grep -[a-zA-Z]*P|head -[nc] -[0-9]|\bnproc\b|\btac\b|\bshuf\b'
# BSD's wc writes spaces before the number, and its awk ends an expression at a slash in brackets.
other='wc -[lcw][^|]*\)" =|/[^/ ]*\[\^?/[^/]*\]'

found() { # FILE …
  local file
  for file in "$@"; do
    case $file in
      Scripts/shell.sh) ;;
      Scripts/assets.sh) grep -nE "$bash4" /dev/null "$file" ;;
      *) grep -nE "$bash4|$gnu|$other" /dev/null "$file" ;;
    esac
  done | grep -vE '^[^:]+:[0-9]+: *#|^[^:]+:[0-9]+:(bash4|gnu|other)='
}

examine() {
  local work count
  work=$(mktemp -d) || return 2
  # shellcheck disable=SC2016
  printf '%s\n' 'mapfile -t lines' 'local -A seen' 'x=${list[-1]}' 'stat -c %s a' 'find . -print0 | sort -z' 'xargs -0 -r awk' \
    '[ "$(names | wc -l)" = 3 ]' 'awk "{ sub(/[/].*/, 1) }"' '# mapfile' 'x=${list[0]}' 'count=$(wc -l <a)' >"$work/a.sh"
  count=$(found "$work/a.sh" | grep -c .)
  rm -rf "$work"
  [ "$count" = 8 ] || { echo "shell: of eight seeded lines $count are found"; return 1; }
}

examine || exit 1
failed=0
scripts=(.ci/run Scripts/*.sh Fuzz/*.sh)
for script in "${scripts[@]}"; do bash -n "$script" || failed=1; done
lacking=$(found "${scripts[@]}")
if [ -n "$lacking" ]; then
  echo "$lacking"
  echo "shell: a Mac's shell or tools lack this"
  failed=1
fi
if command -v shellcheck >/dev/null; then
  shellcheck -s bash -S warning "${scripts[@]}" || failed=1
else
  echo "shell: no shellcheck here; the scripts were parsed and searched only"
fi
exit $failed
