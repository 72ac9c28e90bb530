"""Rewrites C++ sources so that each guard, the condition of an `if`, can be disabled at run time.

A condition becomes `::belay_mutants::Guard(17, condition)`: unchanged, but false if BELAY_MUTANT is 17. There is no
parser: comments, literals and directives are blanked, and parentheses counted.
"""

import dataclasses
import pathlib
import re

_OPEN, _CLOSE = "([{", ")]}"


@dataclasses.dataclass
class Mutant:
    """One fault: a disabled guard, or one planted by hand."""

    number: int
    path: str
    line: int
    kind: str  # "guard" or "fault"
    text: str  # a guard's condition and what follows it, or what a planted fault says of itself

    def __str__(self):
        return f"{self.path}:{self.line}: {self.text}"


@dataclasses.dataclass
class Fault:
    """A fault planted by hand: replaces `old`, which occurs once in the file, by `new`, where FAULT is the switch."""

    path: str
    says: str
    old: str
    new: str
    line: int  # of the list


class Stale(Exception):
    """A list has an entry that the sources do not have."""


def blank(text):
    """Replaces comments, literals and directives by blanks; length and lines are unchanged."""
    token = re.compile(
        r"//(?:\\\n|[^\n])*|/\*.*?\*/"
        r'|(?:u8|[uUL])?R"(?P<tag>[^\s()\\]{0,16})\(.*?\)(?P=tag)"'
        r'|"(?:\\.|[^"\\\n])*"|(?<![0-9A-Fa-f])\'(?:\\.|[^\'\\\n])+\''
        r"|^[ \t]*#(?:\\\n|//[^\n]*|/\*.*?\*/|[^\n])*",
        re.DOTALL | re.MULTILINE,
    )
    # Quotes stay, so that a literal still is an operand.
    def blanked(match):
        found = match.group()
        if found[0] in "\"'" and len(found) > 1:
            return found[0] + "_" * (len(found) - 2) + found[-1]
        return re.sub(r"[^\n]", " ", found)

    return token.sub(blanked, text)


def _closing(code, at):
    """The position of the bracket that closes the one at `at`, or -1."""
    depth = 0
    for i in range(at, len(code)):
        if code[i] in _OPEN:
            depth += 1
        elif code[i] in _CLOSE:
            depth -= 1
            if depth == 0:
                return i
    return -1


def _at_depth_0(code, pattern):
    """Matches of `pattern` in `code` outside of brackets."""
    depth, found = 0, []
    places = {m.start(): m for m in re.finditer(pattern, code)}
    for i, c in enumerate(code):
        if c in _OPEN:
            depth += 1
        elif c in _CLOSE:
            depth -= 1
        elif depth == 0 and i in places:
            found.append(places[i])
    return found


def _squeeze(text):
    return " ".join(text.split())


def _declared(condition):
    """The name that `T name = value` or `T name{value}` declares, or None for an expression."""
    equals = _at_depth_0(condition, r"(?<![=!<>+\-*/%&|^])=(?!=)")
    if not equals:
        return None
    words = re.findall(r"[A-Za-z_]\w*", condition[: equals[0].start()])
    return words[-1] if len(words) > 1 or "*" in condition[: equals[0].start()] else None


def guards(text):
    """(begin, end, condition, follows, replacement) of each guard; the replacement has NUMBER in place of its number.
    Also the number of skipped guards."""
    code, found, skipped = blank(text), [], 0
    for match in re.finditer(r"\bif\b\s*(constexpr\b|consteval\b|!)?\s*", code):
        if match.group(1):
            skipped += 1
            continue
        begin = match.end()
        if begin >= len(code) or code[begin] != "(":
            continue
        end = _closing(code, begin)
        if end < 0 or "FAULT" in code[begin:end]:
            skipped += 1
            continue
        inside = text[begin + 1 : end]
        parts = _at_depth_0(code[begin + 1 : end], ";")
        start = parts[-1].end() if parts else 0
        initial, condition = inside[:start], inside[start:]
        name = _declared(code[begin + 1 + start : end])
        if name is None:
            changed = f"{initial}::belay_mutants::Guard(NUMBER, static_cast<bool>({condition}))"
        elif not parts:
            changed = f"{condition}; ::belay_mutants::Guard(NUMBER, static_cast<bool>({name}))"
        else:
            skipped += 1
            continue
        follows = re.sub(r"^\s*\[\[\w+\]\]", "", text[end + 1 : end + 400])
        if follows.lstrip().startswith("{"):
            follows = follows.lstrip()[1:]
        follows = re.sub(r"//[^\n]*", "", follows)
        found.append((begin + 1, end, _squeeze(inside), _squeeze(follows)[:60], changed))
    return found, skipped


def read_faults(text):
    """The faults of a list: blocks between blank lines of `# description`, `path`, `- old` and `+ new` lines."""
    faults, block, start = [], [], 0
    for number, line in enumerate([*text.split("\n"), ""], 1):
        if line.strip():
            if not block:
                start = number
            block.append(line)
            continue
        says = " ".join(l[1:].strip() for l in block if l.startswith("#"))
        paths = [l.strip() for l in block if l[0] not in "#-+"]
        old = "\n".join(l[2:] for l in block if l.startswith("-"))
        new = "\n".join(l[2:] for l in block if l.startswith("+"))
        if paths:
            if len(paths) != 1 or not says or not old or "FAULT" not in new:
                raise Stale(f"line {start}: expected '# what', a path, '- old' and '+ new' with FAULT in it")
            faults.append(Fault(paths[0], says, old, new, start))
        block = []
    return faults


def rewrite(path, text, faults, first):
    """The source with switches for its guards and `faults`, its mutants, numbered from `first` on, and the number of
    skipped guards."""
    mutants, skipped = [], 0
    for fault in faults:
        if text.count(fault.old) != 1:
            raise Stale(
                f"fault of line {fault.line}: expected once in {path}, got {text.count(fault.old)} times: {fault.old}"
            )
        if fault.new.count("\n") > fault.old.count("\n"):
            raise Stale(f"fault of line {fault.line}: expected as many lines as before, got more")
        number = first + len(mutants)
        mutants.append(Mutant(number, path, text[: text.find(fault.old)].count("\n") + 1, "fault", fault.says))
        new = fault.new.replace("FAULT", f"/*FAULT*/::belay_mutants::Planted({number})")
        new += "\n" * (fault.old.count("\n") - new.count("\n"))
        text = text.replace(fault.old, new)
    found, skipped = guards(text)
    numbered, dropped = [], set()
    # From the last to the first, and from the inside out: a guard may stand in a lambda of another's condition.
    for begin, end, condition, follows, changed in found:
        if "belay_mutants::Planted" in condition:
            skipped += 1
            continue
        number = first + len(mutants)
        follows = re.sub(r"/\*FAULT\*/::belay_\w*:*\w*\(?\d*\)?", "FAULT", follows)
        mutants.append(Mutant(number, path, text[:begin].count("\n") + 1, "guard", f"{condition} → {follows}"))
        numbered.append((begin, end, number, changed))
    out = text
    covered = len(text)
    for begin, end, number, changed in reversed(numbered):
        if end > covered:
            dropped.add(number)  # holds another one
            skipped += 1
            continue
        out = out[:begin] + changed.replace("NUMBER", str(number)) + out[end:]
        covered = begin
    mutants = [m for m in mutants if m.number not in dropped]
    preamble = (pathlib.Path(__file__).resolve().parent / "switch.h.txt").read_text()
    return f'{preamble}#line 1 "{path}"\n{out}', mutants, skipped


@dataclasses.dataclass
class Known:
    """Mutants that need not be detected, with reasons."""

    kind: str  # "equivalent": the same results without it; "unreached": no test can reach it
    path: str
    text: str  # how the mutant's text begins
    why: str
    line: int
    used: bool = False


def read_known(text):
    """The list of known mutants: rows `kind | path | beginning of the text | reason`."""
    known = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip() or line.startswith("#"):
            continue
        cells = [c.strip() for c in line.split(" | ")]
        if len(cells) != 4 or cells[0] not in ("equivalent", "unreached", "harmful") or not all(cells):
            raise Stale(f"line {number}: expected 'equivalent, unreached or harmful | path | text | why'")
        known.append(Known(*cells, line=number))
    return known


def find_known(known, mutant, kind):
    """The row of `kind` for this mutant, or None."""
    for row in known:
        if row.kind == kind and row.path == mutant.path and mutant.text.startswith(row.text):
            row.used = True
            return row
    return None
