#include "conformance/lowering/canonical_text.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/str_cat.h"

namespace belay::conformance {
namespace {

using ::testing::HasSubstr;

// "0", "1.2" or "in0": a node's first result, a result, an input.
Json Ref(std::string_view text) {
  if (text.starts_with("in")) return {{"input", std::stoi(std::string(text.substr(2)))}};
  const size_t dot = text.find('.');
  const int out = dot == text.npos ? 0 : std::stoi(std::string(text.substr(dot + 1)));
  return {{"node", std::stoi(std::string(text.substr(0, dot)))}, {"out", out}};
}
Json Refs(const std::vector<std::string>& texts) {
  Json refs = Json::array();
  for (const std::string& text : texts) refs.push_back(Ref(text));
  return refs;
}

// The entries of a graph with so many inputs: {"sin", "in0"} is a call of sin, {"0", …} of the
// delegate with that index, {"return", …} what it returns.
Json Graph(int inputs, const std::vector<std::vector<std::string>>& calls, Json shape = {2}) {
  Json entries = Json::array();
  const Json type = {{"dtype", "float32"}, {"shape", shape}};
  for (int i = 0; i < inputs; ++i) {
    entries.push_back(
        {{"kind", "placeholder"}, {"input", "user_input"}, {"index", i}, {"type", type}});
  }
  int id = 0;
  for (const std::vector<std::string>& call : calls) {
    const Json args = Refs({call.begin() + 1, call.end()});
    Json entry = {{"kind", "op"}, {"id", id++}, {"op", call[0]}, {"args", args}, {"type", nullptr}};
    if (std::isdigit(call[0][0])) entry.update({{"op", "call"}, {"delegate", std::stoi(call[0])}});
    if (call[0] == "return") {
      entry = {{"kind", "output"}, {"outputs", Json::array()}};
      for (const Json& value : args) {
        entry["outputs"].push_back({{"kind", "user_output"}, {"value", value}});
      }
    }
    entries.push_back(std::move(entry));
  }
  return entries;
}

// What is open of it: "" is the method's graph, a number a delegate's program.
Json Document(Json top, const std::vector<Json>& programs,
              const std::vector<std::string>& open = {}) {
  const auto order = [&](const std::string& name) {
    const bool is_open = std::find(open.begin(), open.end(), name) != open.end();
    return is_open ? "topological_only" : "exact";
  };
  Json document = {
      {"methods",
       {{"forward",
         {{"order", {{"", order("")}}}, {"graphs", {{"", top}}}, {"state", Json::object()}}}}},
      {"delegates", Json::array()}};
  for (const Json& program : programs) {
    const std::string number = absl::StrCat(document["delegates"].size());
    document["delegates"].push_back(
        {{"backend_id", "B"}, {"order", order(number)}, {"program", {{"", program}}}});
  }
  return document;
}

const Json kSin = Graph(1, {{"sin", "in0"}, {"return", "0"}});
const Json kCos = Graph(1, {{"cos", "in0"}, {"return", "0"}});

// A delegate's program alone does not say which of two that are alike is which.
TEST(CompareDocumentsTest, WhatIsAlikeGoesByWhatItIsGiven) {
  const Json twice = Graph(2, {{"sin", "in0"}, {"sin", "in1"}, {"return", "0", "1"}});
  const auto document = [&](const std::vector<std::string>& call,
                            const std::vector<std::string>& results) {
    return Document(Graph(2, {call, results}), {twice}, {"0"});
  };
  const Json expected = document({"0", "in0", "in1"}, {"return", "0.0", "0.1"});
  EXPECT_EQ(CompareDocuments(expected, document({"0", "in1", "in0"}, {"return", "0.1", "0.0"})),
            "");
  EXPECT_NE(CompareDocuments(expected, document({"0", "in1", "in0"}, {"return", "0.0", "0.1"})),
            "");
}

// Equal delegates, in every order and with every number.
TEST(CompareDocumentsTest, EqualDelegates) {
  const auto document = [](const std::vector<std::string>& delegates,
                           const std::vector<std::string>& users) {
    return Document(Graph(2, {{delegates[0], "in0"},
                              {delegates[1], "in0"},
                              {delegates[2], "in1"},
                              {"sub", users[0], users[1]},
                              {"mul", "3", users[2]},
                              {"return", "4"}}),
                    {kSin, kSin, kSin}, {""});
  };
  const Json expected = document({"0", "1", "2"}, {"0", "1", "2"});
  for (std::vector<std::string> delegates = {"0", "1", "2"};;) {
    EXPECT_EQ(CompareDocuments(expected, document(delegates, {"0", "1", "2"})), "");
    EXPECT_EQ(CompareDocuments(expected, document(delegates, {"1", "0", "2"})), "");
    EXPECT_NE(CompareDocuments(expected, document(delegates, {"0", "2", "1"})), "");
    if (!std::next_permutation(delegates.begin(), delegates.end())) break;
  }
}

TEST(CompareDocumentsTest, DelegateInADelegateAndDelegateThatIsCalledTwice) {
  const auto outer = [](const char* first, const char* second) {
    return Graph(2, {{"0", first}, {"1", second}, {"sub", "0", "1"}, {"return", "2"}});
  };
  const Json expected = Document(Graph(2, {{"2", "in0", "in1"}, {"return", "0"}}),
                                 {kSin, kCos, outer("in0", "in1")}, {"2"});
  const Json other = Graph(2, {{"0", "in0"}, {"1", "in1"}, {"sub", "1", "0"}, {"return", "2"}});
  EXPECT_EQ(CompareDocuments(expected, Document(Graph(2, {{"2", "in1", "in0"}, {"return", "0"}}),
                                                {kCos, kSin, other})),
            "");
  EXPECT_NE(CompareDocuments(expected, Document(Graph(2, {{"2", "in0", "in1"}, {"return", "0"}}),
                                                {kCos, kSin, other})),
            "");
  const auto nested = [](const char* name) {
    return Document(Graph(1, {{"0", "in0"}, {name, "0"}, {"0", "1"}, {"return", "2"}}), {kSin},
                    {"0"});
  };
  EXPECT_EQ(CompareDocuments(nested("exp"), nested("exp")), "");
  EXPECT_NE(CompareDocuments(nested("exp"), nested("neg")), "");
}

// What nothing uses has no place in the walk from the outputs.
TEST(CompareDocumentsTest, DeadNodesInEveryOrder) {
  using Call = std::vector<std::string>;
  const auto document = [](const std::vector<int>& order, const char* last) {
    // Two that are equal, of which each has a user of its own, and a user of both.
    const std::vector<Call> calls = {
        {"sin", "in0"}, {"sin", "in0"}, {"exp", "0"}, {"neg", "1"}, {last, "0", "1"}};
    std::vector<Call> listed;
    for (int i : order) {
      Call call = calls[static_cast<size_t>(i)];
      for (size_t k = 1; k < call.size() && call[0] != "sin"; ++k) {
        const auto place = std::find(order.begin(), order.end(), std::stoi(call[k]));
        call[k] = absl::StrCat(place - order.begin());
      }
      listed.push_back(std::move(call));
    }
    listed.push_back({"return", "in0"});
    return Document(Graph(1, listed), {}, {""});
  };
  const Json expected = document({0, 1, 2, 3, 4}, "sub");
  for (const std::vector<int>& order : std::vector<std::vector<int>>{
           {1, 0, 2, 3, 4}, {1, 0, 4, 3, 2}, {0, 2, 1, 4, 3}, {1, 3, 0, 4, 2}}) {
    EXPECT_EQ(CompareDocuments(expected, document(order, "sub")), "");
    EXPECT_NE(CompareDocuments(expected, document(order, "add")), "");
  }
  EXPECT_NE(CompareDocuments(expected, Document(Graph(1, {{"return", "in0"}}), {}, {""})), "");
}

TEST(CompareDocumentsTest, BodiesGoWithTheirNodes) {
  const auto document = [](const char* first, const char* second,
                           const std::vector<std::string>& out) {
    Json json = Document(Graph(1, {{"cond", "in0"}, {"cond", "in0"}, {"return", out[0], out[1]}}),
                         {}, {""});
    Json& graphs = json["methods"]["forward"]["graphs"];
    for (const int k : {0, 1}) {
      const std::string path = absl::StrCat("cond#", k, "/true");
      graphs[""][static_cast<size_t>(k) + 1]["graphs"] = {{"true", path}};
      graphs[path] = Graph(1, {{k == 0 ? first : second, "in0"}, {"return", "0"}});
    }
    return json;
  };
  const Json expected = document("sin", "cos", {"0", "1"});
  EXPECT_EQ(CompareDocuments(expected, document("cos", "sin", {"1", "0"})), "");
  EXPECT_THAT(
      CompareDocuments(expected, document("cos", "sin", {"0", "1"})),
      HasSubstr("- method forward, outputs: [{\"kind\":\"user_output\",\"value\":\"%1.0\"}"));
}

TEST(CompareDocumentsTest, SymbolsAreNumberedAsTheyAppear) {
  const auto document = [](const char* first, const char* second,
                           const std::vector<std::string>& sub,
                           const std::vector<std::string>& call) {
    Json program = Graph(2, {sub, {"return", "0"}});
    program[0]["type"]["shape"] = {first};
    program[1]["type"]["shape"] = {second};
    return Document(Graph(2, {{"sin", "in0"}, call, {"return", "1"}}), {program}, {"0"});
  };
  const Json expected = document("d0", "2*d1 + d0", {"sub", "in0", "in1"}, {"0", "in0", "0"});
  EXPECT_EQ(CompareDocuments(expected,
                             document("d1 + d0*2", "d1", {"sub", "in1", "in0"}, {"0", "0", "in0"})),
            "");
  EXPECT_NE(CompareDocuments(expected,
                             document("d1 + d0*2", "d0", {"sub", "in1", "in0"}, {"0", "0", "in0"})),
            "");
}

TEST(CompareDocumentsTest, ManyDifferencesAreCutShort) {
  const auto chain = [](const char* op) {
    std::vector<std::vector<std::string>> calls = {{op, "in0"}};
    for (int i = 0; i < 29; ++i) calls.push_back({op, absl::StrCat(i)});
    calls.push_back({"return", "29"});
    return Document(Graph(1, calls), {});
  };
  EXPECT_THAT(CompareDocuments(chain("sin"), chain("cos")), HasSubstr("… and 40 more lines"));
}

}  // namespace
}  // namespace belay::conformance
