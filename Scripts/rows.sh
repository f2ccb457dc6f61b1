#!/usr/bin/env bash
# Every capability that codecs, queries and syncs promise has a test, found by the id at the start of its name: `@Test("C4: …")`,
# or by one of several: `@Test("K3, K4: …")`.
#
#     Scripts/rows.sh         lists the rows without one; the exit status is 1 when there is one that is not excused
#
# Rows are C (one value, one record), G (gaps of earlier codecs), N (graphs), A12 (typed keys), A22 to A27 (queries), K and
# A28, A32 to A35 (syncs); the tests say in words what each is.
# A row that a program checks instead of a test has its id in that program: `# N12: …`.
set -uo pipefail
cd "$(dirname "$0")/.." || exit

rows() {
  for number in $(seq 1 19); do echo "C$number"; done
  for number in $(seq 1 8); do echo "G$number"; done
  for number in $(seq 1 12); do echo "N$number"; done
  echo A12
  for number in $(seq 22 28) $(seq 32 35); do echo "A$number"; done
  for number in $(seq 1 15); do echo "K$number"; done
}

# Rows that are not built yet, one a line. The list only gets shorter: an entry that has a test fails, too.
missing() {
  cat <<'END'
END
}

tested() {
  grep -rhE --include='*.swift' -A 1 '@Test\(' Tests Examples | grep -oE '"((C|G|N|A|K)[0-9]+, )*(C|G|N|A|K)[0-9]+: ' |
    tr -d '": ' | tr ',' '\n'
  grep -hoE '^# (C|G|N|A)[0-9]+: ' Scripts/client.sh | tr -d '#: '
}

failed=0
known=$(tested | sort -u)
for row in $(rows); do
  if grep -qx "$row" <<<"$known"; then
    if missing | grep -qx "$row"; then
      echo "rows: $row has a test; strike it from the list"
      failed=1
    fi
  elif ! missing | grep -qx "$row"; then
    echo "rows: $row has no test"
    failed=1
  fi
done
for row in $(missing); do
  rows | grep -qx "$row" || { echo "rows: $row is no row"; failed=1; }
done
[ "$failed" = 0 ] && echo "rows: $(rows | wc -l) rows, $(missing | grep -c .) of them not built yet"
exit "$failed"
