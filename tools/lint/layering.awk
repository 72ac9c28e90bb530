# layering.awk layers.txt ./a/BUILD.bazel ./b/defs.bzl …
#
# Reads the labels of every rule, load() and .bzl file and reports those that the package must not use. A rule is a
# test if its kind ends in _test or it is testonly. Loads and .bzl files may use what tests may, since macros define
# both. Visibility, comments and multi-line strings are not dependencies.

function within(package, pattern) {
  if (pattern == "*") return 1
  if (sub(/:$/, "", pattern)) return package == pattern
  return package == pattern || index(package, pattern "/") == 1
}

# The row for a package: the longest match. Sets `self` to the part of the tree that may use itself.
function row_of(package,   key, best, parts) {
  best = ""
  for (key in may) {
    if (key == "*") continue
    if (key ~ /\/\*$/) {
      prefix = substr(key, 1, length(key) - 1)
      if (index(package, prefix) != 1) continue
    } else if (!within(package, key)) {
      continue
    }
    if (length(key) > length(best)) best = key
  }
  self = best
  sub(/:$/, "", self)
  if (best ~ /\/\*$/) {
    split(substr(package, length(best)), parts, "/")
    self = substr(best, 1, length(best) - 1) parts[1]
  }
  return best
}

function allowed(package, list,   n, i, items) {
  n = split(list, items, " ")
  for (i = 1; i <= n; i++) if (within(package, items[i])) return 1
  return 0
}

function complain(place, message) {
  print place ": " message
  bad++
}

function finish_rule(   i, ok) {
  for (i = 1; i <= labels; i++) {
    edges++
    ok = allowed(label[i], may[row]) || ((is_test || in_macro) && allowed(label[i], tests_may[row]))
    if (!ok && label[i] !~ /^@/) ok = within(label[i], self)
    if (!ok) {
      complain(where[i], (is_test ? "tests of " : "") here " must not use " label[i])
      forbidden++
      if (!is_test && !in_macro && allowed(label[i], tests_may[row])) for_tests++
    }
  }
  labels = 0
  is_test = in_macro = 0
}

# The table: package | what it may use | what else its tests may use.
FILENAME ~ /layers\.txt$/ {
  if ($0 ~ /^ *(#|$)/) next
  if ($1 == "restricted") { for (i = 2; i <= NF; i++) restricted[$i] = 1; next }
  if ($1 == "macros") { for (i = 2; i <= NF; i++) macros[$i] = 1; next }
  n = split($0, column, "|")
  key = column[1]; gsub(/ /, "", key)
  may[key] = column[2]
  tests_may[key] = n > 2 ? column[3] : ""
  next
}

FNR == 1 {
  finish_rule()
  here = FILENAME
  sub(/^\.\//, "", here)
  if (!sub(/\/[^\/]*$/, "", here)) here = "."
  row = row_of(here)
  if (row == "") complain(FILENAME, "no row for " here " in tools/lint/layers.txt: add \"" here " | what it may use | what else its tests may use\"")
  skipping = 0
  all_tests = 0
  kind = ""
  is_bzl = FILENAME ~ /\.bzl$/
  in_string = 0
}

{ line = $0; sub(/(^|[ \t])#.*/, "", line) }

# Multi-line strings: documentation, and sources that a rule writes.
is_bzl {
  rest = line
  line = ""
  while ((at = index(rest, "\"\"\"")) > 0) {
    if (!in_string) line = line substr(rest, 1, at - 1)
    rest = substr(rest, at + 3)
    in_string = !in_string
  }
  if (!in_string) line = line rest
}

# A rule starts and ends in the first column.
line ~ /^[A-Za-z_\[]/ && line !~ /^\]/ { finish_rule(); kind = line; sub(/\(.*/, "", kind) }
line ~ /default_testonly *= *(True|1)/ { all_tests = 1 }
kind ~ /_tests?$/ || line ~ /^ +[a-z_]+_test\($/ || line ~ /testonly *= *(True|1)/ || all_tests { is_test = 1 }
kind ~ /^\[?(package_group|package)$/ { next }
is_bzl || kind == "load" { in_macro = 1 }

line ~ /visibility *= *\[/ { skipping = 1 }
skipping { if (line ~ /\]/) skipping = 0; next }

row != "" {
  while (match(line, /"(@[A-Za-z0-9_.-]+)?\/\/[^" ]*"/)) {
    text = substr(line, RSTART + 1, RLENGTH - 2)
    line = substr(line, RSTART + RLENGTH)
    sub(/^@belay\/\//, "//", text)
    if (text in macros || text == "//") continue
    if (text ~ /^@/) {
      sub(/\/\/.*/, "", text)
      if (!(text in restricted)) continue
    } else {
      sub(/^\/\//, "", text)
      sub(/:.*/, "", text)
      if (text == "") text = "."
      # //conditions:default of a select(), settings of a transition, and packages of external repositories.
      if (text ~ /^(conditions|command_line_option|third_party|third_party\/.*)$/) continue
    }
    labels++
    label[labels] = text
    where[labels] = FILENAME ":" FNR
  }
}

END {
  finish_rule()
  if (forbidden) {
    print "^ tools/lint/layers.txt says which package may use which, lower ones never higher ones: move what is shared down, or the rule up"
  }
  if (for_tests) print "  what tests alone may use, rules may that are tests or say testonly = True"
  if (bad) exit 1
  print edges + 0 " edges"
}
