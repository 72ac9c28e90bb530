# For tests of a harness's output and exit status: `source` it, set `harness`, call `expect`, and end with
# `exit $((failures > 0))`.
failures=0

# expect STATUS TEXT FLAGS...: checks that the harness exits with STATUS and prints TEXT.
expect() {
  local status=$1 text=$2 output came
  shift 2
  output=$("$harness" "$@" 2>&1)
  came=$?
  if [[ $came != "$status" || $output != *"$text"* ]]; then
    echo "FAIL $*: expected status $status and '$text', got $came and:"
    echo "$output"
    failures=$((failures + 1))
  fi
}
