#include "conformance/lowering/differences.h"

#include <algorithm>
#include <map>
#include <regex>
#include <set>

#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "conformance/lowering/canonical_text.h"
#include "runtime/core/str_cat.h"

namespace belay::conformance {
namespace {

using Lines = Difference::Lines;

// Returns the captured groups of all matches of the pattern in lines that begin with `about`.
std::multiset<std::string> Captures(const Lines& lines, const char* about, const char* pattern) {
  const std::regex begin(about), regex(pattern);
  std::multiset<std::string> captures;
  for (const std::string& line : lines) {
    if (!std::regex_search(line, begin, std::regex_constants::match_continuous)) continue;
    for (std::sregex_iterator it(line.begin(), line.end(), regex), end; it != end; ++it) {
      captures.insert((*it)[1]);
    }
  }
  return captures;
}
bool AnyHas(const Lines& lines, const char* pattern) {
  return !Captures(lines, "", pattern).empty();
}

constexpr char kOwned[] = R"(delegate \S+, owns)", kInputs[] = "signature of .*, inputs",
               kOutputs[] = "signature of .*, outputs", kName[] = R"re("([^"]*)")re",
               kTarget[] = R"re("target":"([^"]*)")re",
               kMutation[] = R"re("kind":"buffer_mutation","target":"([^"]*)")re";

// Returns buffers that a delegate or a method writes and that have more than one copy. Copies are
// inputs of methods, and tensors owned by delegates.
std::set<std::string> BuffersInTwoPlaces(const Lines& lines) {
  std::multiset<std::string> copies = Captures(lines, kOwned, kName);
  copies.merge(Captures(lines, kInputs, kTarget));
  std::set<std::string> buffers;
  for (const char* outputs : {kOutputs, R"(delegate \S+ program, out)"}) {
    for (const std::string& fqn : Captures(lines, outputs, kMutation)) {
      if (copies.count(fqn) > 1) buffers.insert(fqn);
    }
  }
  return buffers;
}

// ExecuTorch copies the buffer, so that one copy becomes stale, or removes it from a program that
// still writes it.
bool BufferInTwoPlaces(const Json&, const Lines& expected) {
  return !BuffersInTwoPlaces(expected).empty() ||
         AnyHas(expected, "^error .*does not point to a buffer that exists");
}

// Each of them is an input of a method that writes it, and no delegate owns it.
bool BufferStays(const Lines& expected, const Lines& actual) {
  const auto owned = Captures(actual, kOwned, kName),
             written = Captures(actual, kOutputs, kMutation),
             inputs = Captures(actual, kInputs, kTarget);
  const std::set<std::string> buffers = BuffersInTwoPlaces(expected);
  return std::all_of(buffers.begin(), buffers.end(), [&](const std::string& fqn) {
    return inputs.contains(fqn) && written.contains(fqn) && !owned.contains(fqn);
  });
}

// ExecuTorch decomposes once per partitioner, so the next decomposition removes kept operators.
bool KeptForOneOfSeveral(const Json& description, const Lines&) {
  std::set<std::set<std::string>> kept;  // operators and filters of each round
  for (const Json& round : Member(description, "rounds")) {
    std::set<std::string> own;
    for (const Json& op : Member(round, "ops_to_not_decompose")) {
      own.insert(Text(op) + Member(round, "filter").dump());
    }
    kept.insert(std::move(own));
  }
  return Text(description, "entry") == "transform_and_lower" && kept.size() > 1;
}

// A constant that appears as two inputs of a graph: one copy per user.
#define CONSTANT_TWICE R"re(^(?:method|delegate).*, inputs: .*"target":"([^"]*)".*"target":"\1")re"

// A tuple that crosses the boundary of a delegate: a result of a result, a node with several
// results as a whole, or an input that is a list.
#define TUPLE                                                                                              \
  R"re("%\d+\.\[|"in\d+\.\d|^delegate \S+ program, (?:out\d+: .*"value":"%\d+\.all|in\d+: .*"type":\[))re" \
  R"re(|, inputs: .*"kind":"placeholder","type":\[)re"

constexpr Difference kDifferences[] = {
    // At gather, ExecuTorch finds users of a tagged constant that have no copy of it.
    {.reference = "§7.5",
     .reason = "a constant that is returned or in a list is given to the delegate and kept",
     .test = "ConstantOwnershipTest.AcceptsReturnedConstant",
     .cases = "constant_in_list_argument param_returned",
     .expected_has = R"re(^error gather: constant data node (?!.*"no_copy":\["))re"},
    {.reference = "§10",
     .reason = "a mutated value may be returned as well",
     .test = "ConstantOwnershipTest.MutatedValueMayBeReturnedAndUsedOutside",
     .cases = "mutation_also_returned",
     .expected_has = "^error .*found to also contain a buffer mutation"},
    {.reference = "§11.6",
     .reason = "a consumed mutation's new value may be used outside",
     .test = "ConstantOwnershipTest.MutatedValueMayBeReturnedAndUsedOutside",
     .expected_has = "^error splice"},
    {.reference = "§11.6",
     .reason = "a mutated buffer that a partition and others use stays with the program",
     .test = "ConstantOwnershipTest.KeepsMutatedBufferWithOutsideUser",
     .cases = "mutated_buffer_read_by_delegate",
     .applies = BufferInTwoPlaces,
     .concerns = "^. (?:state|signature) ",
     .fits = BufferStays},
    {.reference = "§7.5",
     .reason = "delegate and program have a constant once each, regardless of its users",
     .test = "ConstantOwnershipTest.ConstantOfThreeTagsSharesBytes",
     .expected_has = CONSTANT_TWICE,
     .concerns = "^. signature ",
     .actual_lacks = CONSTANT_TWICE},
    {.reference = "§11.3",
     .reason = "each used result of a node with several results crosses separately",
     .test = "SpliceTest.OnlyUsedResultsOfASplitAreReturned",
     .cases = "split_opened",
     .expected_has = "^error .*getitem is missing val field"},
    {.reference = "§2.8",
     .reason = "a call's subgraphs and module belong to it: they are not nodes that could be "
               "untagged",
     .test = "SpliceTest.SecondRoundKeepsOrNestsDelegates",
     .cases = "module_untagged",
     .expected_has = R"re(^error .*Node\.meta (?!getitem)\w+ is missing val field)re"},
    // If a result's tag differs from its node's, ExecuTorch may fail in several ways.
    {.reference = "§11.3",
     .reason = "each used result of a node with several results crosses separately; results are "
               "not nodes that could be tagged",
     .test = "SpliceTest.OnlyUsedResultsOfASplitAreReturned",
     .cases = "getitem_tagged_alone topk_tuple_escapes",
     .expected_has = TUPLE R"re(|^error .*"op":"getitem")re",
     .concerns = "^- idle ",
     .actual_lacks = TUPLE},
    {.reference = "§2.15",
     .reason = "the mutation of an input is an output of the program; the copy is made at emission",
     .test = "InterpreterTest.WritesMutatedInputsToCallerMemory",
     .cases = "user_input_mutation",
     .expected_has = R"re("user_input_mutation"|"aten\.copy_\.default")re",
     .concerns = "^- idle ",
     .actual_lacks = R"re("aten\.copy_?\.default")re"},
    {.reference = "§7.11",
     .reason = "subgraphs of while_loop are lowered like other subgraphs",
     .test = "SpliceTest.LowersSubgraphsOfWhileMapAndScan",
     .cases = "while_body_not_lowered",
     .case_has = R"re("while_loop#|"kind":"(?:all_nodes|op_support|groups|capability|demo)")re",
     .expected_has = R"re("op":"while_loop")re",
     .concerns = R"(^\+ backend )",
     .actual_has = R"re(^method .*while_loop%\d+\.\w+, %\d+: .*"delegate":)re"},
    {.reference = "§7.9",
     .reason = "a partitioner receives a const program: edits of its own copy have no effect",
     .test = "CaseRunnerTest.PartitionersEditOnlyTheirCopy",
     .cases = "graph_dead_node_added graph_reordered graph_retargeted validation_disabled",
     .case_has = R"re("tamper":)re",
     .concerns = "^. (?:operator|state|signature) "},
    {.reference = "§2.25",
     .reason = "if groups cannot all be kept together, as many are kept as leave no cycle",
     .test = "GroupsTest.SplitsNonConvexGroup",
     .case_has = R"re("kind":"groups")re",
     .expected_has = "^error .*found dependency cycles"},
    {.reference = "§2.9",
     .reason = "a partition without used values is a call without results",
     .test = "SpliceTest.UnusedPartitionIsACallWithoutResults",
     .expected_has = "^error fuse: .*Cannot determine insertion point"},
    {.reference = "§7.27",
     .reason = "operators that one of several partitioners keeps are kept",
     .test = "ToEdgeTest.KeepsOperatorsRequestedByOnePartitioner",
     .applies = KeptForOneOfSeveral,
     .concerns = R"(^. (?:operator|state|signature) |^\+ backend )"},
    {.reference = "§11.15",
     .reason = "a reply with more results than partitions is an error",
     .test = "ReplyTest.RejectsRepliesOfWrongShape",
     .case_has = R"re("key":"reply","value_base64":"bG9uZ19saXN0")re",  // long_list
     .code = absl::StatusCode::kInternal},
};

// --- Parts that a difference does not concern ---

// Returns all operators, tensors, backends etc. without their graph or delegate. The first word is
// the kind.
std::multiset<std::string> Inventory(const Lines& lines) {
  std::multiset<std::string> inventory;
  const auto add = [&](const char* what, const char* about, const char* pattern) {
    for (const std::string& text : Captures(lines, about, pattern)) {
      inventory.insert(absl::StrCat(what, " ", text));
    }
  };
  // Belay creates copies into inputs at emission, so they do not count as nodes.
  const auto busy = Captures(
      lines, "", R"re(^delegate (\S+) program.*, %\d+: .*"op":"(?!aten\.copy_?\.default"))re");
  for (const std::string& backend : Captures(lines, "", R"re(^delegate (\S+, backend: .*))re")) {
    const size_t end = backend.find(',');
    const bool idle = !busy.contains(backend.substr(0, end));
    inventory.insert(absl::StrCat(idle ? "idle" : "backend", backend.substr(end + 1)));
  }
  add("operator", ".*, %",
      R"re("op":"((?!aten\.copy_?\.default"|executorch_call_delegate")[^"]*)")re");
  add("operator", "partitioners", R"re(^(.*))re");
  add("signature", "signature of", R"re(^(.*))re");
  add("state", "state of", R"re(^(.*))re");
  add("caller", "signature of", R"re("kind":("user_[^"]*"))re");
  // A copy of a tensor counts as the original.
  const auto tensors =
      Captures(lines, R"(delegate \S+, owns|state of .*, (?:state_dict|constants))",
               R"re("((?!sha256:)[^"]*)")re");
  for (const std::string& name : std::set<std::string>(tensors.begin(), tensors.end())) {
    inventory.insert("tensor " + name);
  }
  return inventory;
}

// Maps backend and program to the other lines of each such delegate. Omits blobs of backends that
// list partitions of other delegates.
std::map<std::string, std::multiset<std::string>> DelegatesByProgram(const Lines& lines) {
  const std::regex own_line(
      R"re(^(delegate (D\d+))(?:( program.*|, backend.*)|, (?:owns|named_data|blob).*))re");
  const std::regex says_more(
      R"re(, backend: \["(?:Echo|PreprocessAll|OtherPreprocessAll|Reply)Backend")re");
  std::map<std::string, std::string> programs, rests;  // by delegate name
  for (const std::string& line : lines) {
    std::smatch match;
    if (!std::regex_match(line, match, own_line)) continue;
    (match[3].matched ? programs : rests)[match[2]] += line.substr(match[1].length()) + "\n";
  }
  std::map<std::string, std::multiset<std::string>> delegates;
  for (const auto& [name, program] : programs) {
    std::string& rest = rests[name];
    if (std::regex_search(program, says_more)) rest = rest.substr(rest.find('\n'));  // blob
    delegates[program].insert(rest);
  }
  return delegates;
}

// Returns the lines of `expected` and `actual` that differ although a difference of this kind does
// not explain it; "" if none. Compares delegates' backends and compile specs, signatures, state,
// all operators, all named tensors, proposals, and all lines of delegates whose program is as
// expected. Expected blobs must match. If all graphs are equal, lowering does not differ, and
// nothing is explained.
std::string CompareUnaffected(const Lines& expected, const Lines& actual, const char* concerns) {
  const Lines lines[] = {expected, actual};
  const auto wrong = Captures(lines[0], "delegate", R"re(^(.*, blob: "wrong .*))re");
  std::vector<std::string> problems(wrong.begin(), wrong.end());
  const std::regex concerned(concerns);
  const std::multiset<std::string> inventories[] = {Inventory(lines[0]), Inventory(lines[1])};
  for (const int side : {0, 1}) {
    for (const std::string& line : OnlyIn(inventories[side], inventories[1 - side])) {
      problems.push_back((side == 0 ? "- " : "+ ") + line);
      if (std::regex_search(problems.back(), concerned)) problems.pop_back();
    }
  }
  const auto expected_delegates = DelegatesByProgram(lines[0]);
  for (const auto& [program, rests] : DelegatesByProgram(lines[1])) {
    const auto same = expected_delegates.find(program);
    if (same == expected_delegates.end()) continue;
    if (std::includes(same->second.begin(), same->second.end(), rests.begin(), rests.end()))
      continue;
    problems.push_back(
        absl::StrCat("- ", absl::StrJoin(same->second, "- "), "+ ", absl::StrJoin(rests, "+ ")));
  }
  const char* graphs = R"(^((?:method|signature|delegate \S+(?: program|, backend)).*))";
  if (problems.empty() && Captures(lines[0], "", graphs) == Captures(lines[1], "", graphs)) {
    problems.push_back("all graphs are as expected, so that this difference explains nothing");
  }
  return problems.empty() ? "" : "\n" + absl::StrJoin(problems, "\n");
}

// --- Errors ---

using Code = absl::StatusCode;

// A kind of error. The first string matches the beginning of the expected error, "<stage> <class>:
// <message>". The second matches Belay's message; $1, $2, … are the groups of the first, and TAG is
// one of the case's tags. Both are regular expressions.
struct Rule {
  const char* expected;
  Code code;
  const char* says;
};

// A node by its FX name: the first word of its operator, with which Belay's name begins as well, or
// the placeholder.
#define NODE "(?:aten_)?([a-z]_\\w+|[a-z0-9]+)\\w*"

// The first match counts.
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
    // ExecuTorch treats the empty tag as no tag; Belay reports it (§7.7).
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

absl::Span<const Difference> Differences() { return kDifferences; }

const Difference* FindDifference(const Json& description, const Json& expected, const Json& actual,
                                 absl::StatusCode code, std::string& notes) {
  const std::string text = description.dump();
  const Json& error = Member(expected, "error");
  const Lines expected_lines = error.is_null()
                                   ? CanonicalLines(expected)
                                   : Lines{absl::StrCat("error ", Text(error, "stage"), ": ",
                                                        Text(error, "message"), " ", text)};
  const Lines actual_lines = actual.is_null() ? Lines() : CanonicalLines(actual);
  for (const Difference& row : kDifferences) {
    if (row.code != code || (row.case_has != nullptr && !AnyHas({text}, row.case_has)) ||
        (row.expected_has != nullptr && !AnyHas(expected_lines, row.expected_has)) ||
        (row.applies != nullptr && !row.applies(description, expected_lines))) {
      continue;
    }
    std::string wrong;
    if (error.is_null() && !actual.is_null()) {
      wrong = CompareUnaffected(expected_lines, actual_lines, row.concerns);
      if (wrong.empty() &&
          ((row.actual_has != nullptr && !AnyHas(actual_lines, row.actual_has)) ||
           (row.actual_lacks != nullptr && AnyHas(actual_lines, row.actual_lacks)) ||
           (row.fits != nullptr && !row.fits(expected_lines, actual_lines)))) {
        wrong = "what Belay made is not that";
      }
    }
    if (wrong.empty()) return &row;
    absl::StrAppend(&notes, "\nis not ", row.reference, " (", row.reason, "): ", wrong);
  }
  return nullptr;
}

std::string CompareError(const Json& description, const Json& expected,
                         const absl::Status& status) {
  const std::string message(status.message());
  const std::string text =
      absl::StrCat(Text(expected, "stage"), " ", Text(expected, "python_class"), ": ",
                   Text(expected, "message"));
  std::vector<std::string> tags;
  for (const Json& round : Member(description, "rounds")) {
    for (const auto& [tag, spec] : Member(round, "specs").items()) {
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
