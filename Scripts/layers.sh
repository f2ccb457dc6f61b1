#!/usr/bin/env bash
# Each layer uses only those below it: fails where a file names a type that is declared in a higher layer, and prints the two
# lines, where it is named and where it is declared. Comments and strings do not count.
#
#     Scripts/layers.sh               the sources; first itself, on a seeded reference upwards
#     Scripts/layers.sh FOLDER        the sources below FOLDER, in folders of the same names, without the test of itself
#
# The layers are folders, the lowest first; folders on one line may use each other. A file belongs to the longest folder that
# fits. A type is what `struct`, `class`, `enum`, `protocol`, `actor` or `typealias` declares at the left margin and others may
# see, or a type that a higher layer adds to one of a lower in an extension. A name that two layers of a module declare is the
# lower one's, and one that a layer declares within a type means that in this layer. Between modules the compiler looks.
set -uo pipefail
cd "$(dirname "$0")/.." || exit

layers() {
  cat <<'END'
DaybookEngine/Bytes
DaybookEngine/Platform DaybookEngine/Testing/Hooks
DaybookEngine/Pages
DaybookEngine/Log
DaybookEngine/Trees
DaybookEngine/Assets
DaybookEngine/Store
DaybookEngine/Testing
Daybook/Model
Daybook/Query
Daybook/Trees Daybook/Read Daybook/Write Daybook/Observe Daybook/Assets Daybook/Maintenance Daybook/Database
Daybook/Container
END
}

# Known references upwards, as FILE TYPE. The list only gets shorter: an entry that is not needed any more fails, too.
known() {
  cat <<'END'
END
}

# Reads all files twice: what is declared, then what is named.
scan() { # ROOT
  local root=$1 files
  files=$(cd "$root" && find DaybookEngine Daybook -name '*.swift' 2>/dev/null | LC_ALL=C sort)
  [ -n "$files" ] || { echo "no sources in $root"; return 2; }
  # shellcheck disable=SC2086
  (cd "$root" && { known | sed 's/^/known /'; layers; } | awk '
    # The line without comments and strings; strings over several lines and comments in comments are kept track of.
    function code(line,    out, i, c, two, three) {
      out = ""
      i = 1
      while (i <= length(line)) {
        c = substr(line, i, 1)
        two = substr(line, i, 2)
        three = substr(line, i, 3)
        if (comment > 0) {
          if (two == "*/") { comment--; i += 2 } else if (two == "/*") { comment++; i += 2 } else i++
        } else if (text != "") {
          if (c == "\\") i += 2
          else if (substr(line, i, length(text)) == text) { i += length(text); text = "" }
          else i++
        } else if (two == "//") break
        else if (two == "/*") { comment = 1; i += 2 }
        else if (three == "\"\"\"") { text = three; i += 3 }
        else if (c == "\"") { text = c; i++ }
        else { out = out c; i++ }
      }
      if (text == "\"") text = ""
      return out
    }

    # The type that a line declares, or nothing.
    function declared(line) {
      if (line !~ /(^|[ ])(struct|class|enum|protocol|actor|typealias) [A-Z]/) return ""
      sub(/^.*(struct|class|enum|protocol|actor|typealias) /, "", line)
      match(line, /^[A-Za-z0-9_]+/)
      return substr(line, 1, RLENGTH)
    }

    function layerOf(file,    folder, best) {
      best = ""
      for (folder in rank) if (index(file, folder "/") == 1 && length(folder) > length(best)) best = folder
      return best
    }

    function declare(name, line) {
      if (name == "" || ((module, name) in layer && layer[module, name] <= rank[folder])) return
      layer[module, name] = rank[folder]
      place[module, name] = FILENAME ":" FNR ": " line
    }

    FILENAME == "-" && $1 == "known" { excused[$2, $3] = $2 " names " $3; next }
    FILENAME == "-" { count++; for (i = 1; i <= NF; i++) rank[$i] = count; next }
    FNR == 1 {
      comment = 0
      text = ""
      outer = ""
      pass = FILENAME in seen ? 2 : 1
      seen[FILENAME] = 1
      folder = layerOf(FILENAME)
      module = FILENAME
      sub(/\/.*/, "", module)
      if (folder == "" && pass == 1) { print FILENAME ": belongs to no layer"; failed = 1 }
    }
    folder == "" { next }
    {
      line = code($0)
      shown = $0
      sub(/^[ ]+/, "", shown)
      if (pass == 1) {
        if (line ~ /^extension [A-Z]/ || line ~ /^[a-z@ ]*extension [A-Z]/) {
          outer = line
          sub(/^.*extension /, "", outer)
          match(outer, /^[A-Za-z0-9_.]+/)
          outer = substr(outer, 1, RLENGTH)
        } else if (line ~ /^}/) outer = ""
        name = declared(line)
        if (name == "") next
        if (line ~ /^[ ]/ || line ~ /(^|[ ])(private|fileprivate) /) own[rank[folder], name] = 1
        else declare(name, shown)
        if (outer != "" && line ~ /^  [^ ]/) declare(outer "." name, shown)
        next
      }
      while (match(line, /[.]?[A-Z][A-Za-z0-9_]*([.][A-Z][A-Za-z0-9_]*)*/)) {
        name = substr(line, RSTART, RLENGTH)
        before = RSTART > 1 ? substr(line, RSTART - 1, 1) : " "
        line = substr(line, RSTART + RLENGTH)
        # A member, or the end of a longer word.
        if (name ~ /^[.]/ || before ~ /[A-Za-z0-9_]/) continue
        parts = split(name, part, ".")
        if ((rank[folder], part[1]) in own) continue
        name = ""
        for (i = 1; i <= parts; i++) {
          name = name (i > 1 ? "." : "") part[i]
          if (!((module, name) in layer) || layer[module, name] <= rank[folder] || (FILENAME, FNR, name) in told) continue
          told[FILENAME, FNR, name] = 1
          if ((FILENAME, name) in excused) { used[FILENAME, name] = 1; continue }
          print name ", of a higher layer:"
          print "  " FILENAME ":" FNR ": " shown
          print "  " place[module, name]
          failed = 1
        }
      }
    }
    END {
      for (entry in excused) {
        split(entry, part, SUBSEP)
        if (!(entry in used) && (part[1] in seen)) { print excused[entry] " no more: strike it from the list"; failed = 1 }
      }
      exit failed
    }
  ' - $files $files)
}

# A type of a higher layer, named in a lower one: found in code, and neither in comments nor in strings.
examine() {
  local work found wanted
  work=$(mktemp -d) || return 2
  mkdir -p "$work/DaybookEngine/Pages" "$work/DaybookEngine/Trees"
  cat >"$work/DaybookEngine/Trees/Seed.swift" <<'END'
package struct Seed {}
extension Page { enum Shape { case round } }
extension Page {
  enum Color { case red }
}
private struct Leaf {}
END
  cat >"$work/DaybookEngine/Pages/Page.swift" <<'END'
/// Nothing of a Seed /* in a comment */
struct Page { let text = "Seed \"Seed\" //", leaf = Leaf.self, other = Other.Seed.self }
/* Seed /* Seed */ Seed */
let long = """
  Seed
  """
END
  if ! scan "$work" >"$work/none"; then
    echo "a reference is found where there is none:"
    cat "$work/none"
    rm -rf "$work"
    return 1
  fi
  cat >>"$work/DaybookEngine/Pages/Page.swift" <<'END'
func grow(_ seed: Seed, _ color: Page.Color) {}
END
  found=$(scan "$work")
  rm -rf "$work"
  wanted='Seed, of a higher layer:
  DaybookEngine/Pages/Page.swift:7: func grow(_ seed: Seed, _ color: Page.Color) {}
  DaybookEngine/Trees/Seed.swift:1: package struct Seed {}
Page.Color, of a higher layer:
  DaybookEngine/Pages/Page.swift:7: func grow(_ seed: Seed, _ color: Page.Color) {}
  DaybookEngine/Trees/Seed.swift:4: enum Color { case red }'
  [ "$found" = "$wanted" ] || { echo "a seeded reference upwards is not found, but:"; echo "$found"; return 1; }
}

if [ $# -gt 0 ]; then
  scan "$1"
else
  examine && scan Sources
fi
