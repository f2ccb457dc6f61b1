# What the scripts that look for findings share; to be sourced.

findings=0
finding() {
  echo "finding: $*"
  findings=$((findings + 1))
}
# 15 bits of $RANDOM are not enough for long runs.
random() { echo $(((RANDOM * 32768 + RANDOM) % $1)); }
pause() { sleep "$(awk -v m="$1" 'BEGIN { printf "%.3f", m / 1000 }')"; }
# The date of macOS knows no parts of a second.
milliseconds() {
  case $(date +%N) in
    *[!0-9]* | "") echo $(($(date +%s) * 1000)) ;;
    *) echo $(($(date +%s%N) / 1000000)) ;;
  esac
}
