# doc_references.awk MODE=names LIST MODE=pages FILE.md … MODE=citations FILE …
#
# Three passes: the names of all files (LIST has one a line), the marks of all pages, then the citations of the files. Runs in
# the C locale: § and – are bytes.
#
# Marks of a page: its headings "## §2 Title" (or "## 2. Title"), and **§2.9**, **row 8**, **item 9**, **P4**, **(a)**.
# Rows, items, P4 and (a) belong to the section that contains them, §1a to §1 as well; §6.9 is item 9 of §6.
#
# A citation begins with a page and continues over commas and line ends: "docs/lowering.md §1 rows 3, 7, §2.4–2.6". A later
# § without a page means the page that the file named last; in a page that has sections, the page itself.
#
# A source file is named by its path, from the root or from the folder of the file that names it, in pages and comments:
# `runtime/core/dtype.h`, `../../runtime/core/dtype.h`. A path that begins with no such folder belongs to another project.

function complain(line, message) {
  print file ":" line ": " message
  bad++
}

# --- Marks ---

function mark(key, place) {
  if ((page, key) in marks) return
  marks[page, key] = 1
}

function add_mark(text,   key) {
  if (text ~ /^§/) {
    key = text
  } else if (text ~ /^(row|item) /) {
    key = section " " text
    mark(" " text)
    if (section ~ /[a-z]$/) mark(substr(section, 1, length(section) - 1) " " text)
    if (text ~ /^item /) mark(section "." substr(text, 6))
  } else {
    key = section " " text
  }
  if ((page, key) in own) { file = page; complain(FNR, "marks " key " a second time") }
  own[page, key] = 1
  mark(key)
  if (text ~ /^§.*\./) {
    sub(/^.*\./, "", text)
    mark(section " item " text)
  }
}

function read_marks(line) {
  if (match(line, /^#+ (§[0-9]+[a-z]?( |$)|[0-9]+\. )/)) {
    section = substr(line, RSTART, RLENGTH)
    gsub(/[# .]|§/, "", section)
    section = "§" section
    add_mark(section)
    has_sections[page] = 1
  }
  while (match(line, /\*\*(§[0-9]+[a-z]?\.[0-9]+|(row|item) [0-9]+|[A-Z][0-9]+|\([a-z]\))\*\*/)) {
    add_mark(substr(line, RSTART + 2, RLENGTH - 4))
    line = substr(line, RSTART + RLENGTH)
  }
}

# --- Citations ---

# The line without comment signs; the code before a comment is kept after \001, for the names in it.
function prose(line) {
  if (file ~ /\.md$/) return line
  if (file ~ /\.(h|cc|inc|proto)$/) {
    if (sub(/^[ \t]*\/\/+/, "", line)) return line
    if (match(line, /[ \t]\/\//)) return "\001" substr(line, 1, RSTART) "\002" substr(line, RSTART + 3)
    return "\001" line "\002"
  }
  if (sub(/^[ \t]*#+/, "", line)) return line
  if (match(line, /[ \t]#/)) return "\001" substr(line, 1, RSTART) "\002" substr(line, RSTART + 2)
  return "\001" line "\002"
}

# a/b/../c → a/c
function normal(path,   parts, kept, n, i, depth, out) {
  n = split(path, parts, "/")
  depth = 0
  for (i = 1; i <= n; i++) {
    if (parts[i] == "" || parts[i] == ".") continue
    if (parts[i] == ".." && depth > 0) depth--
    else kept[++depth] = parts[i]
  }
  out = kept[1]
  for (i = 2; i <= depth; i++) out = out "/" kept[i]
  return out
}

function folder_of(path) { return sub(/\/[^\/]*$/, "", path) ? path : "" }

function place_of(path,   near_by) {
  near_by = normal(folder_of(file) "/" path)
  if (near_by in exists) return near_by
  if (normal(path) in exists) return normal(path)
  return ""
}

function not_there(path) {
  return "names " path ", which is not there: write the path from the root or from this file's folder"
}

# Consumes the match at the start of `rest`.
function take(pattern) {
  if (!match(rest, "^" pattern)) return ""
  taken = substr(rest, 1, RLENGTH)
  rest = substr(rest, RLENGTH + 1)
  line_number += gsub(/\n/, " ", taken)
  return taken
}

function check(key, line,   said) {
  citations++
  if ((doc, key) in marks) return
  said = key
  sub(/^ /, "", said)
  complain(line, "cites " doc " " said ", which is not there: cite what is, or mark **" said "** in the page")
}

function last_number(text) {
  gsub(/[^0-9]+/, " ", text)
  sub(/ $/, "", text)
  sub(/.* /, "", text)
  return text + 0
}

# The numbers of a list: "3, 7", "36–38", "8 and 10". `before` precedes each of them in the marks.
function check_numbers(before, first, line,   to, number) {
  check(before first, line)
  number = first
  while (1) {
    if (take(range "[0-9]+")) {
      to = last_number(taken)
      for (number++; number <= to; number++) check(before number, line_number)
    } else if (take("(,[ \n]*(and |or )?|[ \n]+(and|or)[ \n]+)[0-9]+")) {
      number = last_number(taken)
      check(before number, line_number)
    } else {
      return
    }
  }
}

# After "§2", "§2.9" or "§1a" (in `taken`): the rest of the rule names.
function cite_section(line,   key, head, number, to) {
  key = taken
  section = key
  sub(/\..*$/, "", section)
  check(key, line)
  head = key
  if (sub(/\.[0-9]+$/, ".", head)) {
    number = last_number(key)
    if (take(range "((§)?[0-9]+\\.)?[0-9]+")) {
      to = last_number(taken)
      for (number++; number <= to; number++) check(head number, line_number)
    }
  } else if (key ~ /^§[0-9]+$/ && take(range "(§)?[0-9]+")) {
    to = last_number(taken)
    for (number = last_number(key) + 1; number <= to; number++) check("§" number, line_number)
  }
  if (take("[ ]?\\([a-z]\\)")) {
    sub(/^ /, "", taken)
    check(section " " taken, line_number)
  } else if (take("[ \n][A-Z][0-9]+")) {
    check(section " " substr(taken, 2), line_number)
  }
}

# Whether the text since the last citation is only a separator.
function continues(gap) { return listing && gap ~ /^[ \n,;(]*((and|or) )?$/ }

function names_no_page(found, gap, in_code) {
  return rest ~ /^[A-Za-z0-9_]/ || found ~ /:\/\// || found ~ /(^|\/)FILE\.md$/ ||
    found ~ /^[^\/]*\$/ && found !~ /^\$PWD\// ||      # composed by a script
    gap ~ /[}\/]$/ && gap !~ /(^|[^:])\/\/$/ ||         # composed by code; "//" begins a label
    gap ~ /(PyTorch|ExecuTorch)'s $/ ||                # theirs
    rest ~ /^`?\]\(/ ||                                # the text of a link
    in_code && found !~ /[\/:]/                        # a file, not a page
}

function scan(text,   gap, found, line, in_code, kind) {
  rest = text
  line_number = 1
  doc = own_page ? file : ""
  section = ""
  listing = in_code = 0
  while (match(rest, token)) {
    gap = substr(rest, 1, RSTART - 1)
    found = substr(rest, RSTART, RLENGTH)
    rest = substr(rest, RSTART + RLENGTH)
    line_number += gsub(/\n/, "\n", gap)
    line = line_number
    if (found == "\001" || found == "\002") {
      in_code = found == "\001"
      if (in_code) listing = 0
    } else if (found ~ /^§/) {
      if (gap ~ /RFC [0-9]+ $/) { listing = 0; continue }
      if (own_page && !continues(gap)) doc = file
      if (doc == "") continue
      taken = found
      cite_section(line)
      listing = 1
    } else if (found ~ /\.md$/) {
      listing = 0
      if (names_no_page(found, gap, in_code)) continue
      citations++
      sub(/^\$PWD\//, "", found)
      sub(/:/, "/", found)
      doc = place_of(found)
      if (doc == "") {
        complain(line, not_there(found))
        continue
      }
      section = ""
      listing = 1
      take("[)`]*")  # after a link, or a path between backquotes
    } else if (continues(gap)) {
      if (gap ~ /[,;(]/) section = ""  # "§2.4, row 40": a row of the page
      kind = found ~ /^[Rr]/ ? "row" : "item"
      check_numbers(section " " kind " ", last_number(found), line)
    } else {
      listing = 0
    }
  }
}

# --- Source files ---

# Whether the path begins with a folder of this tree.
function is_ours(path) {
  sub(/\/.*/, "", path)
  return path ~ /^\.\.?$/ || path in folders || normal(folder_of(file) "/" path) in folders
}

function check_files(text,   found, before) {
  while (match(text, source_file)) {
    found = substr(text, RSTART, RLENGTH)
    before = substr(text, 1, RSTART - 1)
    text = substr(text, RSTART + RLENGTH)
    if (before ~ /[}\/$]$/ || text ~ /^[A-Za-z0-9_]/ || !is_ours(found)) continue  # a part of something else
    citations++
    if (place_of(found) == "") complain(FNR, not_there(found))
  }
}

BEGIN {
  name = "[A-Za-z0-9_.-]+"
  source_file = name "(/" name ")*/[A-Za-z0-9_-]+\\.(h|cc|inc|proto)"
  range = "[ \n]*(–|-|to)[ \n]*"
  token = "[A-Za-z0-9_.$][A-Za-z0-9_.$:/-]*\\.md|§[0-9]+[a-z]?(\\.[0-9]+)?|([Rr]ow|[Ii]tem)s?[ \n][0-9]+|\001|\002"
}

MODE == "names" {
  exists[$0] = 1
  for (folder = folder_of($0); folder != ""; folder = folder_of(folder)) folders[folder] = 1
  next
}

FNR == 1 {
  if (MODE == "citations" && started) scan(whole)
  file = page = FILENAME
  section = ""
  whole = ""
  near = 0
  started = MODE == "citations"
  own_page = (file in has_sections)
}

MODE == "pages" { read_marks($0) }
MODE == "citations" && /\// && $0 ~ source_file {
  said = prose($0)
  sub(/\001.*\002/, "", said)
  check_files(said)
}
# Lines far from citations are skipped, except their ends.
MODE == "citations" && /\.md|§/ { near = 4 }
MODE == "citations" { whole = whole (near-- > 0 ? prose($0) : ".") "\n" }

END {
  if (started) scan(whole)
  if (bad) exit 1
  print citations + 0 " citations"
}
