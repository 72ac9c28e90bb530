#!/usr/bin/env bash
# list_kernels_test.sh LIST_KERNELS WRITE_RUNTIME PROGRAM CUSTOM: output and errors of both steps of belay_runtime.
# CUSTOM is a program with operators and a backend that Belay does not have.
set -euo pipefail
list_kernels=$1 write_runtime=$2 program=$3 custom=$4
cd "$TEST_SRCDIR/$TEST_WORKSPACE"
arguments=$TEST_TMPDIR/arguments list=$TEST_TMPDIR/list.txt

fail() { echo "$*" >&2; exit 1; }

# expect_failure TEXT COMMAND LINE…: the command fails with these argument lines, and prints TEXT.
expect_failure() {
  local text=$1 command=$2 output
  printf '%s\n' "${@:3}" >"$arguments"
  if output=$("$command" "$arguments" 2>&1); then fail "expected a failure, got '$output'"; fi
  [[ $output == *"$text"* ]] || fail "expected '$text', got '$output'"
}

# A missing kernel is an error that names operator and program, and nothing is written.
expect_failure "$custom: method 'forward' can't be run here: operator 'test.add.Tensor'" \
  "$list_kernels" "output=$list" "program=$program" "program=$custom"
[[ ! -e $list ]] || fail "a list was written"
expect_failure "no_such.belay" "$list_kernels" "output=$list" program=no_such.belay
expect_failure "unknown argument 'method=forward'" "$list_kernels" "output=$list" "program=$program" method=forward

# Operators of the application are not missing.
expect_failure "$custom: method 'forward' can't be run here: backend 'fake'" "$list_kernels" "output=$list" \
  "program=$custom" own_operator=test.add.Tensor own_operator=test.add_.Tensor own_operator=test.less.default

printf '%s\n' "output=$list" "program=$program" over_kernels=cpu >"$arguments"
"$list_kernels" "$arguments"
cat "$list"
grep -q '^backend cpu cpu::RuntimesOver mlp.belay$' "$list" || fail "expected the backend cpu"
grep -Eq '^kernel belay_cpu\.linear\.default [A-Za-z0-9]+ belay::cpu::LinearKernels backends/cpu/kernels/linear.cc mlp.belay$' "$list" ||
  fail "expected the kernel of belay_cpu.linear"

# A row in a file that must not be compiled, a backend that must not be linked, and an invalid line.
common=(name=//app:runtime "list=$list" "header=$TEST_TMPDIR/h" include=h "registry=$TEST_TMPDIR/r" namespace=n)
expect_failure "//app:runtime: the operator 'belay_cpu.linear.default' of mlp.belay needs backends/cpu/kernels/linear.cc, which none of its \`families\` has" \
  "$write_runtime" "${common[@]}" backends=cpu::RuntimesOver
expect_failure "//app:runtime: the backend 'cpu' that mlp.belay needs is not in its \`backends\`" \
  "$write_runtime" "${common[@]}" "table=backends/cpu/kernels/linear.cc=$TEST_TMPDIR/t"
[[ ! -e $TEST_TMPDIR/r ]] || fail "a registry was written"
echo "kernel aten.add.Tensor" >"$list"
expect_failure "//app:runtime: expected a kernel or a backend, got 'kernel aten.add.Tensor'" "$write_runtime" "${common[@]}"
