# What the scripts that look for findings share; to be sourced.

findings=0
finding() {
  echo "finding: $*"
  findings=$((findings + 1))
}
# 15 bits of $RANDOM are not enough for long runs.
random() { echo $(((RANDOM * 32768 + RANDOM) % $1)); }
pause() { sleep "$(awk -v m="$1" 'BEGIN { printf "%.3f", m / 1000 }')"; }
milliseconds() { echo $(($(date +%s%N) / 1000000)); }
