#include "conformance/lowering/case_errors.h"

#include <regex>
#include <vector>

#include "absl/strings/str_replace.h"
#include "runtime/core/str_cat.h"

namespace belay::conformance {
namespace {

using Code = absl::StatusCode;

// A kind of error: what "<stage> <class>: <message>" of the expected error begins with, and what
// Belay says of it, where $1, $2, … are what the first has in parentheses and TAG is one of the
// case's tags. Both are regular expressions.
struct Rule {
  const char* expected;
  Code code;
  const char* says;
};

// A node by the name that FX gave it: the first word of its operator, which begins Belay's name of
// it as well, or the placeholder.
#define NODE "(?:aten_)?([a-z]_\\w+|[a-z0-9]+)\\w*"

// The first that fits counts.
constexpr Rule kRules[] = {
    {R"(\w+ NotImplementedError: Backend (\S+) was not found)", Code::kNotFound,
     "Backend $1 was not found"},
    {R"(preprocess \w+: (call_function \S+ is not supported in backend \w+))", Code::kUnimplemented,
     "$1"},
    {R"(preprocess \w+: (FailingBackend: .*))", Code::kInternal, "backend FailingBackend: .*$1"},
    {R"(\w+ \w+: constant data node \((\w+)\) is tagged with \((\w*)\) but has user \()" NODE
     R"(\) which has tag \((\w*)\))",
     Code::kInvalidArgument,
     R"(constant data node \($1\) is tagged with \($2\).* has user \($3\w*\) which has tag \($4\))"},
    {R"(\w+ \w+: output node \w+ should not be tagged)", Code::kInvalidArgument, "TAG"},
    // ExecuTorch takes the empty tag for none; Belay says so (§7.7).
    {R"(\w+ \w+: placeholder node .* should not be tagged: (\w+))", Code::kInvalidArgument,
     "should not be tagged: $1\\b|has an empty tag"},
    {"fuse \\w+: .*found dependency cycles", Code::kFailedPrecondition,
     "found dependency cycles[\\s\\S]*TAG"},
    {"\\w+ \\w+: .*needs a `partition_tags` field", Code::kInvalidArgument,
     "needs a `partition_tags` field"},
    {R"(\w+ \w+: Partitioner for method (\w+) is not provided)", Code::kInvalidArgument,
     "partitioner for method '$1', but no such method"},
    {"partition \\w+: Node " NODE " exists in multiple groups", Code::kInvalidArgument,
     "node $1\\w* exists in multiple groups"},
    {R"(\w+ \w+: .*<EdgeOpOverload: ([\w.]+)>.* was not decomposed or delegated)",
     Code::kFailedPrecondition, "operator $1 was not decomposed or delegated"},
    {R"(\w+ \w+: (Duplicate key .*))", Code::kAlreadyExists, "$1"},
    // Replies of the wrong shape: one error for each, before anything is spliced (§11.15).
    {R"(lower_backend KeyError: '(\w+)')", Code::kInternal, "replied for method '$1'"},
    {R"(\w+ SpecViolationError: call_module is not valid)", Code::kInternal,
     R"(did not reply for method|replied with \d+ results for the \d+ partitions)"},
    {"lower_backend AttributeError: .*", Code::kUnimplemented, "there is no empty result"},
    {"preprocess ValueError: .*alignment", Code::kInvalidArgument, "alignment"},
    {"preprocess ValueError: .*", Code::kInvalidArgument, R"(method '|backend )"},
    {"preprocess \\w+: .*", Code::kInternal, R"(method '|backend )"},
    {"\\w+ NotImplementedError: .*", Code::kUnimplemented, R"(method '|backend )"},
    {"\\w+ (?:ValueError|TypeError|RuntimeError): .*", Code::kInvalidArgument,
     R"(method '|backend )"},
    {"\\w+ \\w+: .*", Code::kFailedPrecondition, R"(method '|backend )"},
};

std::string Alternatives(const std::vector<std::string>& texts) {
  std::string pattern;
  for (const std::string& text : texts) {
    const std::string quoted = std::regex_replace(text, std::regex(R"([\W])"), R"(\$&)");
    absl::StrAppend(&pattern, pattern.empty() ? "(?:" : "|", quoted);
  }
  return pattern.empty() ? "" : pattern + ")";
}

}  // namespace

std::string CompareError(const Json& description, const Json& expected,
                         const absl::Status& status) {
  const std::string message(status.message());
  const std::string text =
      absl::StrCat(Text(expected, "stage"), " ", Text(expected, "python_class"), ": ",
                   Text(expected, "message"));
  std::vector<std::string> tags;
  for (const Json& round : Elements(Member(description, "rounds"))) {
    for (const auto& [tag, spec] : Elements(Member(round, "specs")).items()) {
      tags.push_back(absl::StrCat("'", tag, "'"));
    }
  }
  for (const Rule& rule : kRules) {
    std::smatch match;
    if (!std::regex_search(text, match, std::regex(absl::StrCat("^", rule.expected)))) continue;
    std::string says = rule.says;
    for (size_t i = match.size(); i-- > 1;) {
      says = absl::StrReplaceAll(says, {{absl::StrCat("$", i), Alternatives({match[i].str()})}});
    }
    says = absl::StrReplaceAll(says, {{"TAG", Alternatives(tags)}});
    if (status.code() == rule.code && std::regex_search(message, std::regex(says))) return "";
    return absl::StrCat("expected the error ", expected.dump(), " as ",
                        absl::StatusCodeToString(rule.code), " that says /", says, "/, got ",
                        status.ToString());
  }
  return absl::StrCat("expected an error of a known kind, got ", expected.dump());
}

}  // namespace belay::conformance
