#include "conformance/lowering/case_errors.h"

#include <algorithm>
#include <cctype>
#include <string_view>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "runtime/core/str_cat.h"

namespace belay::conformance {
namespace {

using Code = absl::StatusCode;

// What stands between two pieces of the expected message, and what it is.
struct Quote {
  enum class Kind : uint8_t {
    kNone,
    kText,    // comes literally
    kTag,     // comes literally, unless it is "None"
    kNode,    // names a node: the operator in it comes, or its placeholder
    kTarget,  // a backend or key that comes literally
  };
  Kind kind = Kind::kNone;
  std::string_view before, after;
};

// A kind of error, recognised by its stage and a piece of its message ("" matches all).
struct Rule {
  std::string_view stage, python_class, fragment;
  std::vector<Code> codes;
  std::vector<Quote> quotes;
  std::string_view says = "";  // what Belay's message has besides
  bool names_a_tag = false;    // one of the case's
};

using Kind = Quote::Kind;

// The first that matches counts. Codes are those of docs/lowering.md §10.
const std::vector<Rule>& Rules() {
  static const auto& rules = *new std::vector<Rule>{
      {"",
       "NotImplementedError",
       "was not found",
       {Code::kNotFound},
       {{Kind::kTarget, "Backend ", " was not found"}}},
      {"preprocess",
       "",
       "is not supported in backend",
       {Code::kUnimplemented, Code::kInvalidArgument, Code::kFailedPrecondition},
       {{Kind::kText, "call_function ", " is not supported"},
        {Kind::kTarget, "supported in backend ", ""}}},
      // Whatever a backend says is passed on, with the backend's name.
      {"preprocess", "", "Backend: ", {}, {{Kind::kTarget, "", ": "}, {Kind::kText, ": ", ""}}},
      {"preprocess", "", "", {}, {}},
      {"",
       "",
       "constant data node",
       {Code::kInvalidArgument},
       {{Kind::kNode, "constant data node (", ")"},
        {Kind::kTag, "is tagged with (", ")"},
        {Kind::kNode, "has user (", ")"},
        {Kind::kTag, "which has tag (", ")"}}},
      {"", "", "output node", {Code::kInvalidArgument}, {}, "", true},
      // ExecuTorch takes the empty tag for none; Belay says so (§7.7).
      {"", "", "placeholder node for non-params", {Code::kInvalidArgument}, {}},
      {"fuse", "", "dependency cycles", {Code::kFailedPrecondition}, {}, "", true},
      {"",
       "",
       "should not modify the graph module",
       {Code::kFailedPrecondition, Code::kInvalidArgument},
       {}},
      {"",
       "",
       "needs a `partition_tags` field",
       {Code::kFailedPrecondition, Code::kInvalidArgument},
       {},
       "partition_tags"},
      {"",
       "",
       "is not provided",
       {Code::kFailedPrecondition, Code::kInvalidArgument},
       {{Kind::kText, "Partitioner for method ", " is not provided"}}},
      {"partition",
       "",
       "exists in multiple groups",
       {Code::kInvalidArgument},
       {{Kind::kNode, "Node ", " exists in"}}},
      {"",
       "",
       "was not decomposed or delegated",
       {Code::kFailedPrecondition},
       {{Kind::kText, "<EdgeOpOverload: ", ">"}}},
      {"",
       "",
       "Duplicate key",
       {Code::kAlreadyExists},
       {{Kind::kTarget, "Duplicate key ", " with"},
        {Kind::kText, "Existing data size: ", " bytes"},
        {Kind::kText, "New data size: ", " bytes"}}},
      // Replies of the wrong shape: one error for each, before anything is spliced (§11.15).
      {"lower_backend", "KeyError", "", {Code::kInternal}, {{Kind::kText, "'", "'"}}},
      {"", "SpecViolationError", "call_module", {Code::kInternal}, {}},
      {"lower_backend", "AttributeError", "", {Code::kInternal, Code::kUnimplemented}, {}},
      {"", "NotImplementedError", "", {Code::kUnimplemented, Code::kNotFound}, {}},
      {"", "ValueError", "", {Code::kInvalidArgument, Code::kAlreadyExists, Code::kOutOfRange}, {}},
      {"", "TypeError", "", {Code::kInvalidArgument}, {}},
      {"",
       "",
       "",
       {Code::kInvalidArgument, Code::kFailedPrecondition, Code::kNotFound, Code::kUnimplemented,
        Code::kInternal},
       {}},
  };
  return rules;
}

bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

std::string Between(std::string_view text, std::string_view before, std::string_view after) {
  const size_t found = text.find(before);
  if (found == std::string_view::npos) return "";
  const size_t begin = found + before.size();
  const size_t end = after.empty() ? text.size() : text.find(after, begin);
  if (end == std::string_view::npos) return "";
  return std::string(text.substr(begin, end - begin));
}

// "aten_add_tensor_1" is named by a text that has "aten.add.Tensor", "p_w" also by one that has
// 'w'.
bool NamesNode(std::string_view message, std::string name) {
  if (name == "output" || Contains(message, name)) return true;
  std::string flat;
  for (char c : message) {
    flat += c == '.' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  const size_t suffix = name.find_last_not_of("0123456789");
  if (suffix != std::string::npos && suffix + 1 < name.size() && name[suffix] == '_') {
    name.resize(suffix);
  }
  if (Contains(flat, name)) return true;
  // A node may have the operator's own name: "(sub)" of aten_sub_tensor.
  if (name.starts_with("aten_")) {
    const std::string op = name.substr(5, name.rfind('_') - 5);
    if (Contains(message, absl::StrCat("(", op))) return true;
  }
  const size_t prefix = name.find('_');
  return prefix != std::string::npos && prefix <= 1 &&
         Contains(message, absl::StrCat("'", name.substr(prefix + 1), "'"));
}

bool Names(std::string_view message, const Quote& quote, const std::string& text) {
  switch (quote.kind) {
    case Kind::kTag:
      return text == "None" || Contains(message, text);
    case Kind::kNode:
      return NamesNode(message, text);
    default:
      return Contains(message, text);
  }
}

// All tags of the rounds that name tags.
std::vector<std::string> TagsOf(const Json& description) {
  std::vector<std::string> tags;
  for (const Json& round : description["rounds"].array()) {
    for (const auto& [tag, spec] : round["specs"].object()) tags.push_back(tag);
  }
  return tags;
}

}  // namespace

std::string CompareError(const Json& description, const Json& expected,
                         const absl::Status& status) {
  const std::string& text = expected["message"].text();
  if (status.ok()) return absl::StrCat("expected the error ", expected.Dump(), ", came success");
  const std::string message(status.message());
  const auto wrong = [&](std::string_view what) {
    return absl::StrCat("expected the error ", expected.Dump(), ", came ", status.ToString(), ": ",
                        what);
  };
  for (const Rule& rule : Rules()) {
    if (!rule.stage.empty() && rule.stage != expected["stage"].text()) continue;
    if (!rule.python_class.empty() && rule.python_class != expected["python_class"].text()) {
      continue;
    }
    if (!Contains(text, rule.fragment)) continue;
    if (!rule.codes.empty() &&
        std::find(rule.codes.begin(), rule.codes.end(), status.code()) == rule.codes.end()) {
      return wrong("another code");
    }
    for (const Quote& quote : rule.quotes) {
      const std::string named = Between(text, quote.before, quote.after);
      if (!named.empty() && !Names(message, quote, named)) {
        return wrong(absl::StrCat("the message does not name '", named, "'"));
      }
    }
    if (!Contains(message, rule.says)) {
      return wrong(absl::StrCat("the message does not say '", rule.says, "'"));
    }
    const std::vector<std::string> tags = TagsOf(description);
    if (rule.names_a_tag && !tags.empty() &&
        std::none_of(tags.begin(), tags.end(), [&](const std::string& tag) {
          return Contains(message, absl::StrCat("'", tag, "'"));
        })) {
      return wrong("the message names no tag");
    }
    return "";
  }
  return wrong("an error of a kind that is not known");
}

}  // namespace belay::conformance
