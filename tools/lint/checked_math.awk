# Finds arithmetic that may overflow: lines with a raw + * << (or += *= <<=), memcpy or memmove, outside comments and
# literals. Lines that name CheckedInt are fine, since it has operators; so are constants, and floating-point sums and
# products, which backends compute. Floats are variables declared as such in the function or class (`float x`), and elements of
# containers of floats (`const float* a`, `Span<const float> b`, a member `std::vector<float> c_`). A redeclaration of the same name
# with another type counts again.
#
# Input: the list of exceptions first (ALLOW=1), "file | piece of the line | reason", then sources (ALLOW=0).
function strip(line,    out, i, c, quote) {
  out = ""
  quote = ""
  for (i = 1; i <= length(line); i++) {
    c = substr(line, i, 1)
    if (quote != "") {
      if (c == "\\") i++
      else if (c == quote) { quote = ""; out = out "L" }
      continue
    }
    if (in_comment) {
      if (substr(line, i, 2) == "*/") { in_comment = 0; i++ }
      continue
    }
    if (substr(line, i, 2) == "//") break
    if (substr(line, i, 2) == "/*") { in_comment = 1; i++; continue }
    # 1'000 is a number.
    if (c == "\"" || (c == "'" && substr(line, i - 1, 1) !~ /[0-9a-fA-F]/)) { quote = c; continue }
    out = out c
  }
  return out
}
# Records names that the line declares as floats ("value") or as containers of floats ("place").
function declare(code,   text, name, kind) {
  for (name in floats) {
    if (code ~ "(int|_t|auto|char|bool)[ *&>]+" name "[^A-Za-z0-9_]") delete floats[name]
  }
  text = " " code
  while (match(text, /[^A-Za-z0-9_](float|double)[ *&>]+(const )?[A-Za-z_][A-Za-z0-9_]*/)) {
    name = substr(text, RSTART + 1, RLENGTH - 1)
    text = substr(text, RSTART + RLENGTH)
    kind = name ~ /[*>]/ ? "place" : "value"
    sub(/.*[ *&>]/, "", name)
    if (text !~ /^\(/) floats[name] = kind
  }
}
# Replaces sums and products of floats by FLOAT: operands are floats, elements of places, and numbers. Index arithmetic
# stays: a[i * n] is not FLOAT.
function without_floats(code,   name, index_of, number, operand) {
  for (name in floats) {
    index_of = "\\[[A-Za-z0-9_.]+\\]"
    operand = name (floats[name] == "place" ? index_of : "")
    while (match(code, "(^|[^A-Za-z0-9_.>])" operand "($|[^A-Za-z0-9_.(\\[-])")) {
      code = substr(code, 1, RSTART - 1) replaced(substr(code, RSTART, RLENGTH), operand) substr(code, RSTART + RLENGTH)
    }
  }
  number = "[0-9]+\\.?[0-9]*(e-?[0-9]+)?[fF]?"
  while (sub("FLOAT [+*/-] (FLOAT|" number ")", "FLOAT", code) || sub("(^|[^A-Za-z0-9_.])" number " [+*/-] FLOAT", " FLOAT", code) ||
         sub(/\(-?FLOAT\)/, "FLOAT", code)) {}
  sub(/FLOAT [+*]= /, "FLOAT = ", code)
  return code
}
function forget_locals(   name) {
  for (name in floats) {
    if (name !~ /_$/) delete floats[name]
  }
}
function replaced(text, operand) {
  sub(operand, "FLOAT", text)
  return text
}
ALLOW {
  if ($0 ~ /^ *(#|$)/) next
  n = split($0, field, / \| /)
  if (n != 3 || field[2] == "" || field[3] == "") {
    print FILENAME ":" FNR ": expected \"file | piece of the line | reason\", got: " $0
    bad++
    next
  }
  rows++
  where[rows] = field[1]; piece[rows] = field[2]; used[rows] = 0; row_line[rows] = FNR
  next
}
FNR == 1 {
  in_comment = 0
  files++
  path = FILENAME
  sub(/^\.\//, "", path)
  # Members are mostly declared after the functions that use them.
  delete floats
  while ((getline line < FILENAME) > 0) declare(line)
  close(FILENAME)
  forget_locals()
}
{
  code = strip($0)
  if (code ~ /^ *#/) next
  # clang-format puts blanks around binary operators, and none before the * of a pointer, except in macro arguments.
  gsub(/ABSL_ASSIGN_OR_RETURN\((const )?[A-Za-z_:<>]+ \* /, "", code)
  gsub(/(const )?auto \* /, "", code)
  declare(code)
  if (code ~ /^\}/) forget_locals()
  if (code ~ /CheckedInt|constexpr/) next
  code = without_floats(code)
  # Constants among themselves: sizes of types, numbers, kNames.
  gsub(/sizeof\([A-Za-z0-9_:<>* ]*\)/, "0", code)
  gsub(/[^A-Za-z0-9_]k[A-Z][A-Za-z0-9]*/, " 0", code)
  while (sub(/[^A-Za-z0-9_.][0-9]+ [+*] [0-9]+/, " 0", code)) {}
  sub(/^ *[0-9]+ [+*]$/, "", code)
  if (code !~ / [+*] / && code !~ / [+*]$/ && code !~ /<</ && code !~ /[^+]\+=/ && code !~ /\*=/ &&
      code !~ /mem(cpy|move)\(/) next
  for (r = 1; r <= rows; r++) {
    if (where[r] == path && index($0, piece[r]) > 0) { used[r] = 1; next }
  }
  print path ":" FNR ": unchecked arithmetic: " $0
  bad++
  unchecked++
}
END {
  if (files == 0) { print "no sources"; bad++ }
  for (r = 1; r <= rows; r++) {
    if (!used[r]) { print "checked_math_allow.txt:" row_line[r] ": nothing has '" piece[r] "' any more: delete the row"; bad++ }
  }
  if (unchecked) {
    print "^ numbers from a file may be anything: compute with CheckedInt, CheckedAdd, CheckedMul, and compare places with RangeFits"
    print "  (runtime/core/checked_math.h). Where a number is bounded already, write a row in tools/lint/checked_math_allow.txt:"
    print "  file | piece of the line | why it can't overflow"
  }
  if (bad == 0) print files " files, " rows " exceptions"
  exit bad > 0
}
