#!/usr/bin/env bash
# Type-checks the sources for iOS, on Linux, with nothing but the toolchain.
#
#     Scripts/darwin.sh              everything
#     Scripts/darwin.sh TARGET …     these targets, and what they need
#
# The toolchain has its standard library as text (.swiftinterface), with the versions of Apple's systems in which each name came.
# That text is built anew for the simulator of an iPhone (20 seconds, once for a toolchain; kept in .build/darwin), so names that
# are newer than the package's oldest system are errors here as they are there. The C library, Foundation, Dispatch and CryptoKit
# are stand-ins, Scripts/Darwin: declarations with Apple's types, nullability and numbers, written from the documentation. A call
# that the sources begin to use has to be added there.
#
# Before it believes a silence, it makes sure that each kind of mistake that it is for is still found.
#
# DaybookCompatibility is not among the targets: on Apple's platforms it is CloudKit, exported again, and has no code.
#
# Not judged: whether a stand-in says what Apple's own headers say; what the compiler finds only after the types (a variable that
# is read before it is set); macOS where it differs from iOS (`Process`); tests and benchmarks; anything that shows by running.
set -euo pipefail
cd "$(dirname "$0")/.."

if [ "$(uname -s)" = Darwin ]; then
  echo "darwin: this is a Mac, where a build with Apple's own SDK says more; nothing was checked"
  exit 0
fi

all=(DaybookEngine Daybook DaybookCoding DaybookSync DaybookTesting DaybookBenchmarking DaybookTool DaybookFuzzing DaybookCommand DaybookCrash DaybookGuard)
wanted=("$@")
for name in "$@"; do
  case " ${all[*]} " in
    *" $name "*) ;;
    *)
      echo "darwin: there is no $name among ${all[*]}" >&2
      exit 2
      ;;
  esac
done
[ ${#wanted[@]} -gt 0 ] || wanted=("${all[@]}")

resources=$(swiftc -print-target-info | sed -n 's/.*"runtimeResourcePath": "\(.*\)".*/\1/p')
version=$(sed -n 's/.*\.iOS(\.v\([0-9]*\)).*/\1/p' Package.swift)
machine=$(uname -m)
# The machine's own architecture: the library's text has types of its processor.
case $machine in
  aarch64 | arm64) architecture=arm64 machine=aarch64 ;;
  *) architecture=$machine ;;
esac
triple=$architecture-apple-ios$version.0-simulator
directory=$PWD/.build/darwin/$({ swiftc --version && cat Scripts/darwin.sh; } 2>/dev/null | cksum | cut -d' ' -f1)
library=$directory/library
modules=$directory/modules
mkdir -p "$directory/sdk" "$modules"
# What an older toolchain has left.
find .build/darwin -mindepth 1 -maxdepth 1 ! -name "${directory##*/}" -exec rm -rf {} +

flags=(
  -target "$triple" -resource-dir "$library" -sdk "$directory/sdk" -module-cache-path "$directory/cache"
  -I Scripts/Darwin -I "$modules"
)

# The text with our target in the place of its own. What is inlined is not needed, nor may it reach for Linux.
buildLibrary() { # MODULE
  local text=$directory/$1.swiftinterface target=$2/iphonesimulator/$1.swiftmodule
  mkdir -p "$target"
  sed -e "s/ -target [^ ]*/ -target $triple/" -e 's/ -library-level api//' -e 's/ -O / -Onone /' \
    -e 's/-target-min-inlining-version min/-target-min-inlining-version target/' \
    -e '/^import Glibc/d' -e 's/@backDeployed([^)]*)//' \
    "$resources/linux/$1.swiftmodule/$machine-unknown-linux-gnu.swiftinterface" >"$text"
  # The standard library's mutex asks Linux for the number of the thread.
  [ "$1" != Synchronization ] || echo '@usableFromInline internal func _swift_stdlib_gettid() -> Swift.UInt32' >>"$text"
  local skip=(-experimental-skip-all-function-bodies)
  [ "$1" != SwiftOnoneSupport ] || skip=()
  if ! swiftc -frontend -build-module-from-parseable-interface "$text" -module-name "$1" -parse-stdlib \
    -target "$triple" -disable-objc-interop -resource-dir "$2" -sdk "$directory/sdk" -module-cache-path "$directory/cache" \
    ${skip[@]+"${skip[@]}"} -o "$target/$architecture-apple-ios-simulator.swiftmodule" >"$directory/log" 2>&1; then
    tail -n 40 "$directory/log"
    echo "darwin: the toolchain's module $1 cannot be built for $triple"
    exit 1
  fi
}

if [ ! -d "$library" ]; then
  started=$SECONDS
  rm -rf "$library.new"
  mkdir -p "$library.new"
  for name in shims clang apinotes; do
    [ ! -e "$resources/$name" ] || ln -s "$resources/$name" "$library.new/$name"
  done
  for module in Swift SwiftOnoneSupport _Concurrency _StringProcessing Synchronization Observation; do
    buildLibrary "$module" "$library.new"
  done
  mv "$library.new" "$library"
  echo "darwin: the standard library for $triple took $((SECONDS - started)) s"
fi

compile() { # MODULE OPTION … FILE …
  local module=$1
  shift
  swiftc -wmo -emit-module -module-name "$module" -emit-module-path "$modules/$module.swiftmodule" "${flags[@]}" \
    -Xfrontend -disable-objc-interop -swift-version 6 -parse-as-library "$@" >"$directory/log" 2>&1
}

ours=(-package-name daybook -strict-memory-safety -warnings-as-errors -DDEBUG)
errors() { grep -E '^[^ ].*error:' "$directory/log" | sort -u; }

for module in Dispatch CryptoKit Foundation; do
  if ! compile "$module" "Scripts/Darwin/$module.swift"; then
    errors
    echo "darwin: the stand-in $module does not compile"
    exit 1
  fi
done

# Mistakes that have been made, and what is said of them.
cat >"$directory/mistakes.swift" <<'MISTAKES'
import Foundation
func newType() { _ = InlineArray<2, Int>(repeating: 0) }
func newMember() { _ = "".utf8.span }
func unmarked() -> UInt { UInt(bitPattern: pthread_self()) }
func noPrograms() { _ = Process() }
func nullable(_ key: pthread_key_t) -> UnsafeMutableRawPointer { unsafe pthread_getspecific(key) }
func missing() { _ = sync_file_range }
MISTAKES
if compile Mistakes "${ours[@]}" "$directory/mistakes.swift"; then
  echo "darwin: mistakes compile, so the check sees nothing"
  exit 1
fi
while IFS= read -r said; do
  if ! grep -qF "$said" "$directory/log"; then
    errors
    echo "darwin: nothing says \"$said\" of a mistake made on purpose, so the check does not see its like"
    exit 1
  fi
done <<'SAID'
'InlineArray' is only available in iOS
'span' is only available in iOS
is not marked with 'unsafe'
cannot find 'Process' in scope
must be unwrapped
cannot find 'sync_file_range' in scope
SAID

# Words of 32 bits are refused, with the reason.
if swiftc -frontend -typecheck -parse-stdlib -disable-objc-interop -target arm64_32-apple-watchos11.0 \
  Sources/DaybookEngine/Platform/WordSize.swift >"$directory/log" 2>&1 || ! grep -q 'Daybook needs' "$directory/log"; then
  echo "darwin: 32-bit pointers are not refused"
  exit 1
fi

status=0
for module in "${all[@]}"; do
  case " ${wanted[*]} " in
    *" $module "*) ;;
    *) case $module in DaybookEngine | Daybook | DaybookTesting | DaybookTool) ;; *) continue ;; esac ;;
  esac
  files=()
  while IFS= read -r file; do files+=("$file"); done < <(find "Sources/$module" -name '*.swift' | sort)
  if compile "$module" "${ours[@]}" "${files[@]}"; then
    echo "darwin: $module, ${#files[@]} files for $triple"
  else
    errors
    echo "darwin: $module does not compile for $triple"
    # What needs it would say no more than that.
    status=1
    case $module in DaybookEngine | Daybook) break ;; esac
  fi
done
echo "darwin: skipped: tests, benchmarks; not judged: Apple's own headers, macOS where it is not like iOS, anything at run time"
exit $status
