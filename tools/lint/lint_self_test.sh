#!/usr/bin/env bash
# Each lint accepts a clean tree and finds planted violations.
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
tests_rule() { library "$1" | sed 's/cc_library/belay_tests/'; }

# A planted file: must fail there, and pass again without it.
plant() { # plant LINT WHAT FILE LINE…
  write "${@:3}"
  expect fail "$1" "$2"
  rm "$tree/$3"
  find "$tree" -type d -empty -delete
}

# says LINT TEXT FILE LINE…: plants a file, and expects the lint's advice TEXT.
says() {
  write "${@:3}"
  if "$lint/$1.sh" "$tree" >"$tree.log" 2>&1 || ! grep -qF "$2" "$tree.log"; then
    echo "$1: expected a message with '$2', got:"
    cat "$tree.log"
    failures=$((failures + 1))
  fi
  rm -f "$tree/$3" "$tree.log"
  find "$tree" -type d -empty -delete
}

expect fail format "an empty tree"
expect fail naming "an empty tree"
expect fail layering "an empty tree"
expect fail includes "an empty tree"

cp "$lint/../../.clang-format" "$tree"
write exir/ir/graph.cc 'int Size() { return 1; }' '// TO''DO(graphs): count.'
write exir/ir/BUILD.bazel 'load("//tools:cc.bzl", "cc_library")' 'load("//exir/op_definition:op.bzl", "ops")' \
  'package(default_visibility = ["//exir:__subpackages__"])' "$(library //exir/op_definition)" "$(test_rule //exir/ops:all)" \
  "$(tests_rule //exir/ops:all)" \
  'cc_library(' '    name = "y",' '    visibility = [' '        "//tools:__pkg__",' '    ],' ')'
for name in format naming layering; do expect pass "$name" "a clean tree"; done

plant format "three blanks" exir/ir/a.cc 'int  A( ) { return 1; }'
plant naming "a meaningless file name" exir/ir/string_util.cc ''
plant naming "a meaningless folder name" exir/helpers/a.cc ''
plant naming "a meaningless target name" exir/op_definition/BUILD.bazel 'cc_library(name = "test_helper")'
plant naming "a to-do without owner" exir/ir/a.cc '// TO''DO: later'
plant layering "runtime uses exir" runtime/core/BUILD.bazel "$(library //exir/op_definition)"
plant layering "a test of runtime uses exir" runtime/core/BUILD.bazel "$(test_rule @belay//exir/op_definition:op)"
plant layering "core uses kernel" runtime/core/BUILD.bazel "$(library //runtime/kernel_interface)"
plant layering "a library uses a test-only dependency" exir/import/BUILD.bazel "$(library //exir/ops:all)"
plant layering "an upward edge after a test" exir/import/BUILD.bazel "$(test_rule //exir/ops)" "$(library //exir/ops)"
plant layering "a backend uses a backend" backends/a/BUILD.bazel "$(library //backends/b:aot)"
plant layering "an upward load" runtime/core/BUILD.bazel 'load("//exir/op_definition:op.bzl", "OPS")'
plant layering "an upward load in a macro file" runtime/core/core.bzl 'load("//exir/op_definition:op.bzl", "OPS")'
plant layering "an upward label in a macro file" runtime/core/core.bzl 'FILES = ["//runtime/core:" + f for f in F] + ["//exir/op_definition:op"]'
write exir/import/BUILD.bazel 'load("//exir/ops:ops.bzl", "OPS")'
write exir/import/import.bzl '"""Rules:' '    load("//tools/belay:x.bzl")' '"""' 'TEXT = """' '"//conformance:x"' '"""' \
  'TESTED = "//exir/ops:all"  # not "//conformance:x"' 'SOURCE = "// Generated."'
expect pass layering "loads of test-only dependencies"
rm "$tree"/exir/import/*
find "$tree" -type d -empty -delete
says layering "testonly = True" exir/import/BUILD.bazel "$(library //exir/ops:all)"
says layering "tools/lint/layers.txt" runtime/core/BUILD.bazel "$(library //exir/op_definition)"
plant layering "SIMD outside kernels" runtime/executor/BUILD.bazel "$(library @highway//:hwy)"
plant layering "a package without a row" exir/novelty/BUILD.bazel "$(library //exir/ir)"
plant language "a nominal clause" exir/ir/a.h '// What a graph has.'
plant language "a phrase in a document" exir/ir/README.m''d 'Passes are listed one behind the other.'
write exir/ir/README.m''d '```' 'one behind the other' '```'
expect pass language "a phrase in a code block"
write tools/lint/language_budget.txt 'exir/ir headers 1'
says language "is above the count of" exir/ir/a.h '// Returns a graph.'
rm "$tree/exir/ir/README.m"'d' "$tree/tools/lint/language_budget.txt"
find "$tree" -type d -empty -delete
for name in format naming layering; do expect pass "$name" "a clean tree, again"; done

# Includes.
write exir/ir/list.h '#include <vector>' 'std::vector<int> Empty();'
write exir/ir/list.cc '#include "exir/ir/list.h"' 'std::vector<int> Empty() { return {}; }  // not a std::map<int, int>' 'const char* s = "std::set<int>";'
expect pass includes "an include through a project header"
plant includes "a name without its header" exir/ir/a.cc '#include <string>' 'std::vector<int> A();'
plant includes "a header that is only in a comment" exir/ir/a.cc '// #include <vector>' 'std::vector<int> A();'
says includes "exir/ir/a.h: include absl/types/span.h for absl::Span" exir/ir/a.h 'absl::Span<const int> A();'

# Arithmetic on numbers from files.
expect fail checked_math "a tree without readers"
write runtime/program/reader.cc '// a + b, c << 2' 'const char* s = "a + b << 3 \" * 2";' 'constexpr int kBig = 1 << 20;' \
  'for (int i = 0; i < 3; ++i) Use(*p, &q, 1'"'"'000);' 'last = last + CheckedInt(size) * 4;' 'Add(sizeof(std::byte*) + 3 * kBytes);' '/* a * b' 'c + d */'
expect pass checked_math "only allowed arithmetic"
plant checked_math "a sum" runtime/program/a.cc 'end = offset + size;'
plant checked_math "a sum over two lines" runtime/program/a.h 'end = offset +' '      size;'
plant checked_math "a product" runtime/core/npy.cc 'bytes = count * 4;'
plant checked_math "a product with a constant" runtime/program/a.cc 'bytes = count * kBytes;'
plant checked_math "a sum with a constant" runtime/program/a.cc 'end = kHeaderBytes + size;'
plant checked_math "a shift" exir/import/zip_reader.cc 'size = 1u << exponent;'
plant checked_math "a running sum" runtime/program/a.cc 'total += size;'
plant checked_math "a running product" runtime/program/a.cc 'total *= size;'
plant checked_math "a copy" backends/a/a_blob.cc 'std::memcpy(to, from, size);'
plant checked_math "after a comment" runtime/program/a.cc '/* x */ end = offset + size;  // y'
plant checked_math "an exception without a reason" tools/lint/checked_math_allow.txt 'runtime/program/reader.cc | x'
plant checked_math "an unused exception" tools/lint/checked_math_allow.txt \
  'runtime/program/reader.cc | offset + size | it was checked'
write tools/lint/checked_math_allow.txt '# Why:' 'runtime/program/a.cc | offset + size | it was checked'
write runtime/program/a.cc 'end = offset + size;'
expect pass checked_math "an exception"

# Backends compute floats; address arithmetic is checked again.
runtime=backends/a/a_runtime.cc
write $runtime 'float Dot(const float* a, absl::Span<const float> b, int64_t n) {' '  float sum = 0;' '  for (int64_t i = 0; i < n; ++i) sum += a[i] * b[i];' \
  '  return 2.5f * sum + 1;' '}' 'void Scale::Run(float* out, const float* in) {' '  for (int i = 0; i < n; ++i) out[i] = scale_ * in[i] + (bias_[i] - 1e-5f) * 2;' '}' \
  'class Scale {' '  float scale_ = 1;' '  std::vector<float> bias_;' '};' 'float Half(float x) { return x * 0.5f + x; }'
expect pass checked_math "floating-point arithmetic"
plant checked_math "the index of a float" $runtime 'void F(float* a, int64_t n) {' '  a[0] = a[i * n] + a[1];' '}'
plant checked_math "the index of a written float" $runtime 'void F(float* a, int64_t n) {' '  a[i * n] = a[1] + a[2];' '}'
plant checked_math "a pointer to floats" $runtime 'void F(float* a, int64_t n) {' '  const float* end = a + 4;' '}'
plant checked_math "an integer next to a float" $runtime 'void F(float* a, int64_t n) {' '  Use(a[0] + n * m);' '}'
plant checked_math "a float of another function" $runtime 'void F(float a) {}' 'void G(int64_t a) {' '  Use(a + 1);' '}'
plant checked_math "an integer of another function" $runtime 'void F(float* a) {' '}' 'void G() {' '  Use(a[0] + a[1]);' '}'
says checked_math "runtime/core/checked_math.h" $runtime 'end = offset + size;'
says checked_math "tools/lint/checked_math_allow.txt" $runtime 'end = offset + size;'

# The example's folder, placed like a backend of this tree.
mkdir -p "$tree/backends" && cp -rL "$lint/../../examples/out_of_tree_backend" "$tree/backends/npu"
for name in checked_math format layering naming; do expect pass "$name" "examples/out_of_tree_backend as a backend"; done
rm -r "$tree/backends/npu"

write backends/a/BUILD.bazel "$(library //backends/a/b)" "$(library @highway//:hwy)" "$(library //exir:pipeline)" "$(library //conditions:default)"
expect pass layering "allowed dependencies of a backend"

# Cited pages and rules.
page=docs/rules'.'md
cites() { # cites pass|fail WHAT LINE…: a header that says so
  write exir/ir/cites.h "${@:3}"
  expect "$1" doc_references "$2"
  rm "$tree/exir/ir/cites.h"
}
expect fail doc_references "a tree without pages"
write $page '## §1 One' '### §1a First' '- **row 1** x' '- **row 2** y' '## §2 Two' '- **§2.1** x' '- **§2.2** y' '- **§2.3** z' \
  '## §3 Three' '- **item 1** x' '- **item 2** y, as §2.3 says' '- **P4** z' '- **(a)** w' '## §4 Four'
write exir/ir/notes'.'md "[the rules](../../$page) §2.1, \`$page\` row 2" '## 2. Own' 'A bare §2 is its own.'
cites pass "all kinds of citations" "// Source: $page §1 rows 1, 2, §1a, §2.1–2.3, §3 item 2, §3.1, §3 P4," '// §3(a) and §2; row 1.' \
  "#include \"a.h\"  // $page rows 1 –" '// 2, §2–§4. Later a bare §2.2 counts, but RFC 8259 §9 and rows 7, 8 of a table do not.'
cites pass "names that are not citations" '// https://example.com/none.md §9' "// PyTorch's docs/none.md, FILE.md" \
  'std::ofstream(folder + "/docs/none.md"); Open("none.md");' "// \$PWD/$page §1, //${page/\//:} §2" '// notes.md §2'
cites fail "a missing page" '// docs/no'ne.md''
cites fail "a page in another folder" '// rules'.md''
cites fail "a page that an error names" 'Error("see docs/no'ne.md'");'
cites fail "a missing section" "// $page §5"
cites fail "a missing rule" "// $page §2.4"
cites fail "a missing row" "// $page row 3"
cites fail "a row of another section" "// $page §2 row 1"
cites fail "a missing item" "// $page §3 item 3"
cites fail "a missing class" "// $page §3 P5"
cites fail "a missing letter" "// $page §3(b)"
cites fail "the second of a list" "// $page §1 rows 2, 9"
cites fail "the end of a range" "// $page §2.1 – 2.4"
cites fail "the next line" "// $page" '// §2.9'
cites fail "the next line of a list" "// $page rows 1," '// 9'
cites fail "a bare section later" "// $page §1" 'int x;' '// The rule of §2.9.'
cites fail "a section of a page with only headings" '// notes.md §3'
cites pass "source files" '// exir/ir/cites.h, ../ir/graph.cc; cites.h' '#include "exir/ir/none.h"  // ATen/none.h' 'Open("exir/ir/none.h");' \
  '// $PWD/exir/ir/none.h, exir/ir/none.html, folder/none.h; //exir/ir/none.h'
cites fail "a missing source file" '// See exir/ir/none.h.'
cites fail "a source file in another folder" 'int x;  // ../op/cites.h'
plant doc_references "a source file that a page names" exir/ir/README'.'md 'In `../op_definition/none.cc`.'
plant doc_references "a source file that a script names" exir/ir/a.sh '# exir/ir/none.inc'
plant doc_references "a citation in a BUILD file" exir/ir/BUILD.bazel "# $page §9"
plant doc_references "a broken link" exir/ir/README'.'md "[rules](../$page)"
plant doc_references "a bare section that the page lacks" docs/more'.'md '## §1 One' 'As §2 says.'
plant doc_references "a mark set twice" docs/more'.'md '## §1 One' '- **row 1** x' '- **row 1** y'

page=docs/public_targets'.md'
expect fail public_targets "a tree without the page"
write $page '| target | for |' '| --- | --- |' '| `//a:x` | things |'
write a/BUILD.bazel 'package(default_visibility = ["//:__subpackages__"])' 'cc_library(' '    name = "x",' \
  '    visibility = ["//visibility:public"],' ')' 'cc_library(name = "y")'
expect pass public_targets "a public target that is listed"
plant public_targets "a completely public package" b/BUILD.bazel 'package(default_visibility = ["//visibility:public"])'
plant public_targets "a public target that is not listed" b/BUILD.bazel 'cc_library(name = "z", visibility = ["//visibility:public"])'
plant public_targets "a row without a public target" $page '| `//a:x` | things |' '| `//a:y` | others |'

registry=third_party/bazel_registry
expect fail modules "a tree without modules"
write MODULE.bazel 'bazel_dep(name = "a", version = "1")'
write $registry/bazel_registry.json '{}'
write $registry/modules/a/1/MODULE.bazel 'module(name = "a")'
write $registry/modules/a/1/source.json '  "path": "/usr"'
expect pass modules "a module that the registry has"
plant modules "sources that are not there" $registry/modules/b/1/source.json '  "path": "b"'
write $registry/modules/a/1/MODULE.bazel 'bazel_dep(name = "b", version = "2")'
expect fail modules "a module of a module that the registry does not have"

if ((failures)); then exit 1; fi
echo "all found"
