#include "conformance/lowering/case_format.h"

#include <string>
#include <string_view>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::conformance {
namespace {

using ::testing::HasSubstr;

Json Parse(std::string_view text) {
  absl::StatusOr<Json> json = ParseJson(text);
  EXPECT_TRUE(json.ok()) << text;
  return json.ok() ? *std::move(json) : Json();
}

// The document with `replacement` in the place of `part`.
std::string With(std::string document, std::string_view part, std::string_view replacement) {
  const size_t found = document.find(part);
  EXPECT_NE(found, std::string::npos) << part;
  return document.replace(found, part.size(), replacement);
}

constexpr char kCase[] = R"({
  "name": "n", "shows": "s", "entry": "manager", "to_edge": {"skip_dim_order": true},
  "pt2_decomposed": true, "methods": {"forward": "program.pt2"},
  "after": {"forward": {"b": "after.b.npy"}},
  "rounds": [
    {"kind": "tags", "constants": [{"fqn": "w", "tag": "t0"}], "no_copy": ["w"],
     "tags": [{"graph": [], "op": "aten.sin.default", "occurrence": 0, "tag": "t0"},
              {"user_input": 0, "tag": "t1"}, {"output": true, "tag": "t2"}],
     "tag_order": ["t0"],
     "specs": {"t0": {"backend_id": "B",
                      "compile_specs": [{"key": "k", "value_base64": ""}]}},
     "tamper": {"action": "meta", "op": "aten.sin.default", "occurrence": 0}},
    {"kind": "op_support", "ops": [], "groups": [[{"op": "o", "occurrence": 0}]],
     "constants": "auto", "filter": {"kind": "bias_present"}},
    {"kind": "all_nodes", "backend_id": "B", "compile_specs": []},
    {"kind": "demo", "name": "AddMulPartitionerDemo"},
    {"kind": "whole_program", "backend_id": "B"}]})";

constexpr char kExpected[] = R"({
  "methods": {"forward": {
    "order": {"": "exact"},
    "graphs": {"": [
      {"kind": "placeholder", "input": "user_input", "index": 0,
       "type": {"dtype": "float32", "shape": [3]}},
      {"kind": "delegate", "id": 0, "op": "call", "args": [], "delegate": 0, "slot": 0},
      {"kind": "getitem", "of": {"node": 0, "out": 0}},
      {"kind": "op", "id": 1, "op": "aten.sin.default", "args": [], "type": [{"symint": "d0"}]},
      {"kind": "output", "outputs": [{"kind": "user_output", "value": {"input": 0}}]}]},
    "signature": {"inputs": [{"kind": "user_input", "index": 0}], "outputs": []},
    "state": {"state_dict": []}}},
  "delegates": [{
    "index": 0, "backend_id": "B", "compile_specs": [], "order": "topological_only",
    "locations": [{"method": "forward", "graph": [], "slot": 0}], "processed_text": "",
    "program": {"": [{"kind": "output", "outputs": []}]}, "constants_owned": [],
    "named_data": {"buffers": 1, "pte": {"w": {"buffer": 0}}, "external": {}},
    "debug_handle_map": {"keys": "int", "raw": {}, "nodes": {"0": [{"op": "o"}]}}}],
  "partitions": [{"method": "forward", "graph": [], "tag": "t", "nodes": [{"op": "o"}]}],
  "source_state_changed": {"forward": {"added": 1}},
  "single_program_entry": "same"})";

TEST(CaseFormatTest, EveryLevelOfACase) {
  EXPECT_OK(CheckCaseFormat(Parse(kCase)));
  struct {
    std::string_view part, with, message;
  } wrong[] = {
      {R"("name": "n")", R"("names": "n")", "unknown field 'names' in the case; there are after,"},
      {R"("manager")", R"("managers")", "unknown word 'managers' as entry; there are compose,"},
      {R"("skip_dim_order")", R"("skip")", "unknown field 'skip' in to_edge"},
      {R"({"forward": {"b")", R"({"backward": {"b")", "unknown method 'backward' in after"},
      {R"("no_copy": ["w"])", R"("nocopy": ["w"])", "unknown field 'nocopy' in rounds[0]"},
      {R"("fqn")", R"("name")", "unknown field 'name' in rounds[0].constants[0]"},
      {R"("occurrence": 0, "tag": "t0")", R"("occurence": 0, "tag": "t0")",
       "unknown field 'occurence' in rounds[0].tags[0]"},
      {R"("user_input": 0,)", R"("user_input": 0, "op": "o",)",
       "unknown field 'op' in rounds[0].tags[1]"},
      {R"("output": true,)", R"("output": true, "op": "o",)",
       "unknown field 'op' in rounds[0].tags[2]"},
      {R"("tag_order": ["t0"])", R"("tag_order": ["t1"])",
       "tag 't1' of rounds[0].tag_order has no specs"},
      {R"({"backend_id": "B",)", R"({"backend": "B",)",
       "unknown field 'backend' in rounds[0].specs.t0"},
      {R"("value_base64")", R"("value")",
       "unknown field 'value' in rounds[0].specs.t0.compile_specs[0]"},
      {R"("action": "meta")", R"("action": "swap")", "unknown word 'swap' as rounds[0].tamper"},
      {R"([[{"op": "o")", R"([[{"operator": "o")",
       "unknown field 'operator' in rounds[1].groups[0][0]"},
      {R"("auto")", R"("all")", "unknown word 'all' as rounds[1].constants"},
      {R"({"kind": "bias_present"})", R"({"kind": "bias"})",
       "unknown word 'bias' as rounds[1].filter"},
      {R"({"kind": "all_nodes",)", R"({"kind": "all_nodes", "tags": [],)",
       "unknown field 'tags' in rounds[2]"},
      {R"("demo")", R"("demo", "backend_id": "B")", "unknown field 'backend_id' in rounds[3]"},
      {R"("whole_program")", R"("whole_program", "methods": [])",
       "unknown field 'methods' in rounds[4]"},
  };
  for (const auto& c : wrong) {
    EXPECT_THAT(CheckCaseFormat(Parse(With(kCase, c.part, c.with))),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(std::string(c.message))));
  }
}

TEST(CaseFormatTest, EveryLevelOfAnExpectation) {
  EXPECT_OK(CheckExpectedFormat(Parse(kExpected)));
  struct {
    std::string_view part, with, message;
  } wrong[] = {
      {R"("partitions")", R"("proposals")", "unknown field 'proposals' in the expectation"},
      {R"("order": {"": "exact"})", R"("orders": {})", "unknown field 'orders' in methods.forward"},
      {R"("exact")", R"("exactly")", "unknown word 'exactly' as methods.forward.order"},
      {R"({"": "exact"})", R"({"cond#0/true": "exact"})", "the graph 'cond#0/true' of"},
      {R"("index": 0,)", R"("position": 0,)",
       "unknown field 'position' in methods.forward.graphs.''[0]"},
      {R"("dtype")", R"("type")", "unknown field 'type' in methods.forward.graphs.''[0].type"},
      {R"("slot": 0})", R"("slots": 0})", "unknown field 'slots' in methods.forward.graphs.''[1]"},
      {R"("of")", R"("from")", "unknown field 'from' in methods.forward.graphs.''[2]"},
      {R"("kind": "op")", R"("kind": "call")", "unknown word 'call' as methods.forward.graphs"},
      {R"("symint")", R"("symfloat")", "unknown field 'symfloat' in"},
      {R"("value": {"input": 0})", R"("is": {"input": 0})", "unknown field 'is' in"},
      {R"("inputs")", R"("ins")", "unknown field 'ins' in methods.forward.signature"},
      {R"("state_dict")", R"("dict")", "unknown field 'dict' in methods.forward.state"},
      {R"("order": "topological_only")", R"("order": "any")", "unknown word 'any' as delegates[0]"},
      {R"("processed_text")", R"("text")", "unknown field 'text' in delegates[0]"},
      {R"("slot": 0}],)", R"("place": 0}],)", "unknown field 'place' in delegates[0].locations[0]"},
      {R"({"kind": "output", "outputs": []})", R"({"kind": "output", "out": []})",
       "unknown field 'out' in delegates[0].program.''[0]"},
      {R"("buffer": 0)", R"("number": 0)", "unknown field 'number' in delegates[0].named_data.pte"},
      {R"("keys": "int")", R"("keys": "ints")", "unknown word 'ints' as delegates[0].debug"},
      {R"("0": [{"op")", R"("0": [{"node")",
       "unknown field 'node' in delegates[0].debug_handle_map.nodes.0[0]"},
      {R"("nodes": [{"op")", R"("nodes": [{"node")",
       "unknown field 'node' in partitions[0].nodes[0]"},
      {R"("added")", R"("more")", "unknown field 'more' in source_state_changed.forward"},
      {R"("same")", R"("equal")", "unknown word 'equal' as single_program_entry"},
  };
  for (const auto& c : wrong) {
    EXPECT_THAT(CheckExpectedFormat(Parse(With(kExpected, c.part, c.with))),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(std::string(c.message))));
  }
}

TEST(CaseFormatTest, ErrorsHaveStagesThatThereAre) {
  EXPECT_OK(CheckExpectedFormat(
      Parse(R"({"error": {"python_class": "E", "message": "m", "stage": "fuse"}})")));
  EXPECT_THAT(
      CheckExpectedFormat(Parse(R"({"error": {"message": "m", "stage": "future"}})")),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("unknown word 'future' as error.stage; there are build_subprogram,")));
  EXPECT_THAT(CheckExpectedFormat(Parse(R"({"error": {"text": "m", "stage": "fuse"}})")),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("'text' in error")));
  EXPECT_THAT(CheckExpectedFormat(Parse(R"({"composed": {"error": {}}})")),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("'error' in composed")));
}

}  // namespace
}  // namespace belay::conformance
