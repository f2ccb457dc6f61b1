#!/usr/bin/env bash
# Installs what the benchmarks compare Daybook with: SQLite, LMDB, RocksDB, LevelDB. Debian and Ubuntu; asks for root.
#
#     Scripts/peers.sh
#
# Elsewhere: brew install sqlite lmdb rocksdb leveldb.
set -euo pipefail

packages=(libsqlite3-dev liblmdb-dev librocksdb-dev libleveldb-dev)
missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
done

if [ ${#missing[@]} -gt 0 ]; then
  run=()
  [ "$(id -u)" -eq 0 ] || run=(sudo)
  "${run[@]}" apt-get update
  "${run[@]}" apt-get install -y --no-install-recommends "${missing[@]}"
fi
dpkg-query -W -f '${Package} ${Version}\n' "${packages[@]}"
