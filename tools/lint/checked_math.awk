# Finds arithmetic that may overflow: lines with a raw + * << (or += *= <<=), memcpy or memmove, outside comments and
# literals. CheckedInt computes with operators, too: a line that names it is fine, and so are constants.
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
ALLOW {
  if ($0 ~ /^ *(#|$)/) next
  n = split($0, field, / \| /)
  if (n != 3 || field[2] == "" || field[3] == "") {
    print FILENAME ":" FNR ": not \"file | piece of the line | reason\""
    bad++
    next
  }
  rows++
  where[rows] = field[1]; piece[rows] = field[2]; used[rows] = 0; row_line[rows] = FNR
  next
}
FNR == 1 { in_comment = 0; files++; path = FILENAME; sub(/^\.\//, "", path) }
{
  code = strip($0)
  if (code ~ /^ *#/) next
  # clang-format puts blanks around binary operators, and none before the * of a pointer, but for macro arguments.
  gsub(/ABSL_ASSIGN_OR_RETURN\((const )?[A-Za-z_:<>]+ \* /, "", code)
  gsub(/(const )?auto \* /, "", code)
  if (code ~ /CheckedInt|constexpr/) next
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
}
END {
  if (files == 0) { print "no sources"; bad++ }
  for (r = 1; r <= rows; r++) {
    if (!used[r]) { print "checked_math_allow.txt:" row_line[r] ": nothing has '" piece[r] "' any more"; bad++ }
  }
  if (bad == 0) print files " files, " rows " exceptions"
  exit bad > 0
}
