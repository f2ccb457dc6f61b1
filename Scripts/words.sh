#!/usr/bin/env bash
# Words over which readers of comments and pages stumbled get fewer, never more. Scripts/words.txt has them, each with how often
# it may occur and what to say instead.
#
#     Scripts/words.sh                counts, and fails where a word is more frequent than the list allows
#     Scripts/words.sh lower          writes the counts into the list where they are lower; never a higher one
#     Scripts/words.sh list WORD      the places of a word of the list
#
# Counted are comments of Swift files and the pages, not code and not strings. A word that is no problem in its sense
# ("nobody" as the Unix user) counts, too: the list allows for it.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
list=Scripts/words.txt

# The text that counts, as FILE:LINE:TEXT.
text() { # FOLDER
  (cd "$1" && find . -name .build -prune -o \( -name '*.swift' -o -name '*.md' \) -type f -print | LC_ALL=C sort | tr '\n' '\0' |
    xargs -0 awk '
      FILENAME ~ /\.swift$/ && !sub(/^.*\/\/+ /, "") { next }
      { print substr(FILENAME, 3) ":" FNR ":" $0 }')
}

places() { # WORD, on the text
  grep -iE "^[^:]*:[0-9]+:.*\b($1)\b"
}

count() { # WORD, on the text
  sed -E 's/^[^:]*:[0-9]+://' | grep -oiE "\b($1)\b" | wc -l | tr -d ' '
}

# A word in a comment and on a page is found, and in code and in strings it is not.
examine() {
  local work found
  work=$(mktemp -d) || return 2
  printf '%s\n' 'let behind = "behind it" // behind' '  /// Behind the log' 'let x = 1' >"$work/A.swift"
  printf '%s\n' 'It lies behind.' >"$work/A.md"
  found=$(text "$work" | count behind)
  rm -rf "$work"
  [ "$found" = 3 ] || { echo "of three seeded words $found are found"; return 1; }
}

case ${1:-count} in
  list) text . | places "$(tr '_' ' ' <<<"${2:?a word}")" ;;
  count | lower)
    examine || exit 1
    all=$(text .)
    failed=0
    lowered=$(mktemp)
    while IFS= read -r line; do
      case $line in '#'* | '') echo "$line" >>"$lowered"; continue ;; esac
      read -r word limit instead <<<"$line"
      found=$(count "$(tr '_' ' ' <<<"$word")" <<<"$all")
      if [ "$found" -gt "$limit" ]; then
        echo "\"${word//_/ }\" $found times, and $limit are allowed. Instead: $instead. Where: Scripts/words.sh list $word"
        failed=1
      elif [ "$found" -lt "$limit" ]; then
        [ "${1:-}" = lower ] || echo "\"${word//_/ }\" $found times, $((limit - found)) fewer than allowed: Scripts/words.sh lower"
        limit=$found
      fi
      printf '%-16s %4d  %s\n' "$word" "$limit" "$instead" >>"$lowered"
    done <"$list"
    if [ "${1:-}" = lower ]; then cat "$lowered" >"$list"; fi
    rm -f "$lowered"
    exit $failed
    ;;
  *)
    sed -n '2,10s/^# \{0,1\}//p' "$0" >&2
    exit 2
    ;;
esac
