#include "conformance/lowering/canonical_text.h"

#include <algorithm>
#include <cctype>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "absl/strings/substitute.h"
#include "gtest/gtest.h"
#include "runtime/core/str_cat.h"

namespace belay::conformance {
namespace {

using absl::Substitute;

// "2,d0: sin in0; 0 0 in1; return 0 1.1": the sizes of the inputs; calls, a number's of that
// delegate, "cond#1" the second of those that have a body of its own; what is returned. Arguments
// are inputs, and nodes' first results or others.
Json Graph(const std::string& text) {
  const std::vector<std::string> parts =
      absl::StrSplit(text, absl::ByAnyChar(":;"), absl::SkipWhitespace());
  Json entries = Json::array();
  const std::vector<std::string> sizes = absl::StrSplit(parts[0], ',');
  for (const std::string& size : sizes) {
    Json shape = {size};
    if (size == "2") shape = {2};
    entries.push_back({{"kind", "placeholder"},
                       {"input", "user_input"},
                       {"index", entries.size()},
                       {"type", {{"dtype", "float32"}, {"shape", shape}}}});
  }
  for (size_t k = 1; k < parts.size(); ++k) {
    std::vector<std::string> words = absl::StrSplit(parts[k], ' ', absl::SkipEmpty());
    Json args = Json::array(), outputs = Json::array();
    for (size_t w = 1; w < words.size(); ++w) {
      const std::vector<std::string> numbers = absl::StrSplit(words[w], absl::ByAnyChar("n."));
      args.push_back(words[w][0] == 'i'
                         ? Json{{"input", std::stoi(numbers[1])}}
                         : Json{{"node", std::stoi(numbers[0])},
                                {"out", numbers.size() == 2 ? std::stoi(numbers[1]) : 0}});
      outputs.push_back({{"kind", "user_output"}, {"value", args.back()}});
    }
    Json entry = {
        {"kind", "op"}, {"id", k - 1}, {"op", words[0]}, {"args", args}, {"type", nullptr}};
    if (std::isdigit(words[0][0])) entry.update({{"op", "call"}, {"delegate", words[0][0] - '0'}});
    if (words[0].starts_with("cond#"))
      entry.update({{"op", "cond"}, {"graphs", {{"b", words[0]}}}});
    if (words[0] == "return") entry = {{"kind", "output"}, {"outputs", outputs}};
    entries.push_back(std::move(entry));
  }
  return entries;
}

// Of the method's graph, the delegates' programs, and the bodies of "cond#0", "cond#1", …. `open`
// names what has an open order: "m" the method, "0" the first delegate.
Json Document(const std::vector<std::string>& graphs, const std::string& open,
              const std::vector<std::string>& bodies = {}) {
  const auto order = [&](const std::string& name) {
    return open.find(name) != open.npos ? "topological_only" : "exact";
  };
  Json document = {{"methods", Json::object()}, {"delegates", Json::array()}};
  Json& method = document["methods"]["forward"];
  method = {{"order", {{"", order("m")}}}, {"graphs", {{"", Graph(graphs[0])}}}, {"state", {}}};
  for (size_t k = 0; k < bodies.size(); ++k) {
    method["graphs"][absl::StrCat("cond#", k)] = Graph(bodies[k]);
  }
  for (size_t d = 1; d < graphs.size(); ++d) {
    document["delegates"].push_back({{"backend_id", "B"},
                                     {"order", order(absl::StrCat(d - 1))},
                                     {"program", {{"", Graph(graphs[d])}}}});
  }
  return document;
}

bool Same(const Json& expected, const Json& actual) {
  return CompareDocuments(expected, actual).empty();
}

constexpr char kSin[] = "2: sin in0; return 0", kCos[] = "2: cos in0; return 0";

// A delegate's program alone does not say which of two that are alike is which.
TEST(CompareDocumentsTest, WhatIsAlikeGoesByWhatItIsGiven) {
  const auto document = [](const char* top) {
    return Document({top, "2,2: sin in0; sin in1; return 0 1"}, "0");
  };
  const Json expected = document("2,2: 0 in0 in1; return 0.0 0.1");
  EXPECT_TRUE(Same(expected, document("2,2: 0 in1 in0; return 0.1 0.0")));
  EXPECT_FALSE(Same(expected, document("2,2: 0 in1 in0; return 0.0 0.1")));
}

// In every order and with every number.
TEST(CompareDocumentsTest, EqualDelegates) {
  const auto document = [](const std::string& delegates, const std::string& users) {
    return Document({Substitute("2,2: $0 in0; $1 in0; $2 in1; sub $3 $4; mul 3 $5; return 4",
                                delegates.substr(0, 1), delegates.substr(1, 1), delegates.substr(2),
                                users.substr(0, 1), users.substr(1, 1), users.substr(2)),
                     kSin, kSin, kSin},
                    "m");
  };
  std::string delegates = "012";
  do {
    EXPECT_TRUE(Same(document("012", "012"), document(delegates, "012")));
    EXPECT_TRUE(Same(document("012", "012"), document(delegates, "102")));
    EXPECT_FALSE(Same(document("012", "012"), document(delegates, "021")));
  } while (std::next_permutation(delegates.begin(), delegates.end()));
}

TEST(CompareDocumentsTest, DelegateInADelegateAndDelegateThatIsCalledTwice) {
  const Json expected = Document(
      {"2,2: 2 in0 in1; return 0", kSin, kCos, "2,2: 0 in0; 1 in1; sub 0 1; return 2"}, "2");
  const auto other = [](const char* top) {
    return Document({top, kCos, kSin, "2,2: 0 in0; 1 in1; sub 1 0; return 2"}, "");
  };
  EXPECT_TRUE(Same(expected, other("2,2: 2 in1 in0; return 0")));
  EXPECT_FALSE(Same(expected, other("2,2: 2 in0 in1; return 0")));
  const auto twice = [](const char* between) {
    return Document({Substitute("2: 0 in0; $0 0; 0 1; return 2", between), kSin}, "0");
  };
  EXPECT_TRUE(Same(twice("exp"), twice("exp")));
  EXPECT_FALSE(Same(twice("exp"), twice("neg")));
}

// What nothing uses has no place in the walk from the outputs. Two that are equal, of which each has
// a user of its own, and a user of both.
TEST(CompareDocumentsTest, DeadNodesInEveryOrder) {
  const auto document = [](const char* calls, const char* both) {
    return Document({absl::StrCat("2: ", Substitute(calls, both), "return in0")}, "m");
  };
  const Json expected = document("sin in0; sin in0; exp 0; neg 1; $0 0 1; ", "sub");
  for (const char* order :
       {"sin in0; sin in0; exp 1; neg 0; $0 1 0; ", "sin in0; sin in0; $0 1 0; neg 0; exp 1; ",
        "sin in0; exp 0; sin in0; $0 0 2; neg 2; ", "sin in0; neg 0; sin in0; $0 2 0; exp 2; "}) {
    EXPECT_TRUE(Same(expected, document(order, "sub"))) << order;
    EXPECT_FALSE(Same(expected, document(order, "add"))) << order;
  }
  EXPECT_FALSE(Same(expected, document("", "sub")));
}

TEST(CompareDocumentsTest, BodiesGoWithTheirNodes) {
  const auto document = [](const char* first, const char* second, const char* results) {
    return Document({absl::StrCat("2: cond#0 in0; cond#1 in0; return ", results)}, "m",
                    {first, second});
  };
  EXPECT_TRUE(Same(document(kSin, kCos, "0 1"), document(kCos, kSin, "1 0")));
  EXPECT_FALSE(Same(document(kSin, kCos, "0 1"), document(kCos, kSin, "0 1")));
}

TEST(CompareDocumentsTest, SymbolsAreNumberedAsTheyAppear) {
  const auto document = [](const char* sizes, const char* operands, const char* arguments) {
    return Document({Substitute("2: sin in0; 0 $0; return 1", arguments),
                     Substitute("$0: sub $1; return 0", sizes, operands)},
                    "0");
  };
  const Json expected = document("d0,2*d1 + d0", "in0 in1", "in0 0");
  EXPECT_TRUE(Same(expected, document("d1 + d0*2,d1", "in1 in0", "0 in0")));
  EXPECT_FALSE(Same(expected, document("d1 + d0*2,d0", "in1 in0", "0 in0")));
}

}  // namespace
}  // namespace belay::conformance
