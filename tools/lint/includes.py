#!/usr/bin/env python3
"""includes.py ROOT: every file includes, directly or through the project's headers, the precompiled headers (tools/precompiled_headers)
whose names it uses: it must also compile without precompiled headers."""

import functools
import pathlib
import re
import sys

# Maps headers to patterns of their declarations. The standard library's headers may include each other; those that any string or
# vector includes (utility, cstddef, type_traits, initializer_list, iterator) are not required.
DECLARES = {
    "algorithm": r"std::(?:sort|stable_sort|max_element|min_element|minmax_element|find_if|find_if_not|any_of|all_of|none_of|reverse|"
                 r"transform|lower_bound|upper_bound|equal|fill_n|copy_n|copy_if|replace|remove_if|unique|rotate|nth_element|"
                 r"partial_sort|clamp|count_if|next_permutation|generate)\(|std::ranges::",
    "array": r"std::array<",
    "bit": r"std::(?:bit_cast<|popcount\(|countr_zero\(|countl_zero\(|bit_width\(|bit_ceil\(|bit_floor\(|has_single_bit\(|endian)",
    "cmath": r"std::(?:sqrt|exp|log|log2|log10|pow|sin|cos|tan|tanh|floor|ceil|round|nearbyint|isnan|isinf|isfinite|fabs|ldexp|fma|erf)\(",
    "complex": r"std::complex<",
    "cstdint": r"\bu?int(?:8|16|32|64)_t\b",
    "cstring": r"std::(?:memcpy|memset|memcmp|memmove|strlen|strcmp)\(",
    "functional": r"std::function<|std::(?:plus|multiplies|hash)<",
    "limits": r"std::numeric_limits<",
    "map": r"std::(?:multi)?map<",
    "memory": r"std::(?:unique_ptr<|shared_ptr<|make_unique<|make_shared<)",
    "numeric": r"std::(?:iota|accumulate|gcd|lcm|reduce)\(",
    "optional": r"std::(?:optional<|nullopt\b)",
    "set": r"std::(?:multi)?set<",
    "string": r"std::(?:string\b|to_string\()",
    "string_view": r"std::string_view\b",
    "tuple": r"std::(?:tuple<|tie\(|make_tuple\()",
    "variant": r"std::(?:variant<|visit\(|get_if<|monostate\b|holds_alternative<)",
    "vector": r"std::vector<",
    "absl/container/btree_map.h": r"absl::btree_(?:multi)?map<",
    "absl/container/btree_set.h": r"absl::btree_(?:multi)?set<",
    "absl/container/flat_hash_map.h": r"absl::flat_hash_map<",
    "absl/container/flat_hash_set.h": r"absl::flat_hash_set<",
    "absl/functional/function_ref.h": r"absl::FunctionRef<",
    "absl/status/status.h": r"absl::(?:Status\b|StatusCode\b|OkStatus\(|\w+Error\()",
    "absl/status/statusor.h": r"absl::StatusOr<",
    "absl/strings/match.h": r"absl::(?:StartsWith|EndsWith|StrContains|EqualsIgnoreCase)(?:IgnoreCase)?\(",
    "absl/strings/numbers.h": r"absl::Simple(?:Atoi|Atod|Atof|HexAtoi)\(",
    "absl/strings/str_cat.h": r"absl::(?:StrCat|StrAppend|AlphaNum|Hex|Dec)\b",
    "absl/strings/str_format.h": r"absl::(?:StrFormat|StrAppendFormat|FormatSpec)\b",
    "absl/strings/str_join.h": r"absl::(?:StrJoin)\(",
    "absl/strings/str_split.h": r"absl::(?:StrSplit|ByChar|ByString|SkipEmpty|MaxSplits)\b",
    "absl/types/span.h": r"absl::(?:Span<|MakeSpan\(|MakeConstSpan\()",
}
# Headers that guarantee the declarations of another.
BRINGS = {
    "absl/status/statusor.h": ["absl/status/status.h"],
    "stdint.h": ["cstdint"],
}
FOLDERS = ["backends", "bazel", "bindings", "conformance", "examples", "executorch", "exir", "fuzz", "runtime", "tools"]
INCLUDE = re.compile(r'^#\s*include\s*[<"]([^>"]+)[>"]', re.M)
COMMENT_OR_TEXT = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"', re.S)


def main():
    root = pathlib.Path(sys.argv[1])

    @functools.lru_cache(None)
    def text(path):
        return (root / path).read_text()

    @functools.lru_cache(None)
    def included(path):
        """Transitive includes of a file of the project: names of headers, and paths of the project's files."""
        found, open_ = set(), [path]
        while open_:
            for name in INCLUDE.findall(text(open_.pop())):
                for header in [name] + BRINGS.get(name, []):
                    if header not in found:
                        found.add(header)
                        if (root / header).is_file():
                            open_.append(header)
        return found

    findings = files = 0
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in (".h", ".cc"):
                continue
            files += 1
            name = str(path.relative_to(root))
            code = COMMENT_OR_TEXT.sub('""', text(name))
            headers = included(name)
            for header, pattern in DECLARES.items():
                if header not in headers and (use := re.search(pattern, code)):
                    findings += 1
                    print(f"{name}: include {header} for {use.group().strip('<(')}")
    if not files:
        sys.exit(f"no files below {root}")
    print(f"{files} files, {findings} findings")
    sys.exit(1 if findings else 0)


main()
