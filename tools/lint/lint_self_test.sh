#!/usr/bin/env bash
# Each lint accepts a clean tree and finds what is planted in it.
set -euo pipefail

lint=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
failures=0

write() { # write FILE LINE…
  mkdir -p "$tree/$(dirname "$1")"
  printf '%s\n' "${@:2}" >"$tree/$1"
}

expect() { # expect pass|fail LINT WHAT
  local outcome=pass
  "$lint/$2.sh" "$tree" >"$tree.log" 2>&1 || outcome=fail
  if [[ $outcome != "$1" ]]; then
    echo "$2: expected $1 on: $3"
    cat "$tree.log"
    failures=$((failures + 1))
  fi
  rm -f "$tree.log"
}

library() { # library LABEL: a rule that uses LABEL.
  printf '%s\n' 'cc_library(' '    name = "x",' "    deps = [\"$1\"]," ')'
}
test_rule() { library "$1" | sed 's/cc_library/cc_test/'; }

# A planted file: must fail there, and pass again without it.
plant() { # plant LINT WHAT FILE LINE…
  write "${@:3}"
  expect fail "$1" "$2"
  rm "$tree/$3"
  find "$tree" -type d -empty -delete
}

expect fail format "an empty tree"
expect fail naming "an empty tree"
expect fail layering "an empty tree"

cp "$lint/../../.clang-format" "$tree"
write exir/ir/graph.cc 'int Size() { return 1; }' '// TO''DO(graphs): count.'
write exir/ir/BUILD.bazel 'load("//conformance:conformance.bzl", "suite")' \
  'package(default_visibility = ["//exir:__subpackages__"])' "$(library //exir/op)" "$(test_rule //exir/ops:all)" \
  'cc_library(' '    name = "y",' '    visibility = [' '        "//tools:__pkg__",' '    ],' ')'
for name in format naming layering; do expect pass "$name" "a clean tree"; done

plant format "three blanks" exir/ir/a.cc 'int  A( ) { return 1; }'
plant naming "a vague file" exir/ir/string_util.cc ''
plant naming "a vague folder" exir/helpers/a.cc ''
plant naming "a vague target" exir/op/BUILD.bazel 'cc_library(name = "test_helper")'
plant naming "nobody's" exir/ir/a.cc '// TO''DO: later'
plant layering "runtime uses exir" runtime/core/BUILD.bazel "$(library //exir/op)"
plant layering "a test of runtime uses exir" runtime/core/BUILD.bazel "$(test_rule @belay//exir/op:op)"
plant layering "core uses kernel" runtime/core/BUILD.bazel "$(library //runtime/kernel)"
plant layering "a library uses what only tests may" exir/import/BUILD.bazel "$(library //exir/ops:all)"
plant layering "an upward edge after a test" exir/import/BUILD.bazel "$(test_rule //exir/ops)" "$(library //exir/ops)"
plant layering "backend sees backend" backends/a/BUILD.bazel "$(library //backends/b:aot)"
plant layering "SIMD outside kernels" runtime/executor/BUILD.bazel "$(library @highway//:hwy)"
plant layering "a package without a row" exir/novelty/BUILD.bazel "$(library //exir/ir)"
for name in format naming layering; do expect pass "$name" "a clean tree, again"; done

# Arithmetic on numbers from files.
expect fail checked_math "a tree without readers"
write runtime/program/reader.cc '// a + b, c << 2' 'const char* s = "a + b << 3 \" * 2";' 'constexpr int kBig = 1 << 20;' \
  'for (int i = 0; i < 3; ++i) Use(*p, &q, 1'"'"'000);' 'last = last + CheckedInt(size) * 4;' 'Add(sizeof(std::byte*) + 3 * kBytes);' '/* a * b' 'c + d */'
expect pass checked_math "only what is allowed"
plant checked_math "a sum" runtime/program/a.cc 'end = offset + size;'
plant checked_math "a sum over two lines" runtime/program/a.h 'end = offset +' '      size;'
plant checked_math "a product" runtime/core/npy.cc 'bytes = count * 4;'
plant checked_math "a product with a constant" runtime/program/a.cc 'bytes = count * kBytes;'
plant checked_math "a sum with a constant" runtime/program/a.cc 'end = kHeaderBytes + size;'
plant checked_math "a shift" exir/import/zip_reader.cc 'size = 1u << exponent;'
plant checked_math "a running sum" runtime/program/a.cc 'total += size;'
plant checked_math "a running product" runtime/program/a.cc 'total *= size;'
plant checked_math "a copy" backends/a/a_blob.cc 'std::memcpy(to, from, size);'
plant checked_math "behind a comment" runtime/program/a.cc '/* x */ end = offset + size;  // y'
plant checked_math "an exception without a reason" tools/lint/checked_math_allow.txt 'runtime/program/reader.cc | x'
plant checked_math "an exception that nothing needs" tools/lint/checked_math_allow.txt \
  'runtime/program/reader.cc | offset + size | it was checked'
write tools/lint/checked_math_allow.txt '# Why:' 'runtime/program/a.cc | offset + size | it was checked'
write runtime/program/a.cc 'end = offset + size;'
expect pass checked_math "an exception"

write backends/a/BUILD.bazel "$(library //backends/a/b)" "$(library @highway//:hwy)" "$(library //exir:pipeline)"
expect pass layering "what a backend may use"

if ((failures)); then exit 1; fi
echo "all found"
