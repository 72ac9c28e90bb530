#include "conformance/lowering/case_besides.h"

#include <string>
#include <string_view>
#include <vector>

#include "conformance/lowering/normal_form.h"
#include "conformance/lowering/recording_text.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace belay::conformance {
namespace {

using ::testing::HasSubstr;

Json Op(int id, const char* op, const Json& argument) {
  return Json::Object{{"kind", "op"},
                      {"id", id},
                      {"op", op},
                      {"args", Json::Array{argument}},
                      {"type", Json::Object{{"dtype", "float32"}, {"shape", Json::Array{2}}}}};
}

// in0 → ops → output, one after the other.
Json Graphs(const std::vector<const char*>& ops) {
  Json::Array entries = {
      Json::Object{{"kind", "placeholder"},
                   {"input", "user_input"},
                   {"index", 0},
                   {"type", Json::Object{{"dtype", "float32"}, {"shape", Json::Array{2}}}}}};
  Json value = Json::Object{{"input", 0}};
  for (const char* op : ops) {
    const int id = static_cast<int>(entries.size()) - 1;
    entries.push_back(Op(id, op, value));
    value = Json::Object{{"node", id}, {"out", 0}};
  }
  entries.push_back(Json::Object{
      {"kind", "output"},
      {"outputs", Json::Array{Json::Object{{"kind", "user_output"}, {"value", value}}}}});
  return Json::Object{{"", std::move(entries)}};
}

Json Delegate(const std::vector<const char*>& ops, Json::Array owned = {}) {
  const Json graphs = Graphs(ops);
  const std::string text = RecordingText(graphs, std::vector<std::string>());
  return Json::Object{{"backend_id", "RecordingBackend"},
                      {"compile_specs", Json::Array()},
                      {"program", graphs},
                      {"processed_text", text},
                      {"processed_bytes_sha256", Sha256(text)},
                      {"constants_owned", std::move(owned)}};
}

// A method and delegates.
Json Document(const std::vector<const char*>& ops, Json::Array delegates, Json::Array state = {}) {
  const Json user = Json::Object{{"kind", "user_input"}},
             out = Json::Object{{"kind", "user_output"}};
  const Json signature = Json::Object{{"inputs", Json::Array{user}}, {"outputs", Json::Array{out}}};
  return Json::Object{
      {"methods",
       Json::Object{{"forward", Json::Object{{"graphs", Graphs(ops)},
                                             {"signature", signature},
                                             {"state", Json::Object{{"state_dict", state},
                                                                    {"unreferenced_other", 0}}}}}}},
      {"delegates", std::move(delegates)}};
}

// `document` with another field of its first delegate.
Json With(const Json& document, const char* field, Json value) {
  Json copy = document;
  Json::Object& delegate = *copy.get_if<Json::Object>()
                                ->at("delegates")
                                .get_if<Json::Array>()
                                ->at(0)
                                .get_if<Json::Object>();
  delegate[field] = std::move(value);
  return copy;
}

// The same operators elsewhere.
const Json kExpected = Document({"exp"}, {Delegate({"sin", "cos"}), Delegate({"neg"})});
const Json kCame = Document({"exp", "sin"}, {Delegate({"cos"}), Delegate({"neg"})});

TEST(CompareBesidesTest, GraphsAndProgramsMayDiffer) {
  EXPECT_EQ(CompareBesides(kExpected, kCame, {}), "");
}

TEST(CompareBesidesTest, WhereAllGraphsAreEqualNothingIsExplained) {
  EXPECT_THAT(CompareBesides(kExpected, kExpected, {}), HasSubstr("explains nothing"));
}

TEST(CompareBesidesTest, BackendsAndSpecsAndTheirNumber) {
  EXPECT_THAT(CompareBesides(With(kExpected, "backend_id", "Wrong"), kCame, {}),
              HasSubstr("backends: expected besides what came: [Wrong[]], came besides: "
                        "[RecordingBackend[]]"));
  EXPECT_THAT(CompareBesides(With(kExpected, "compile_specs", Json::Array{"k"}), kCame, {}),
              HasSubstr("[RecordingBackend[\"k\"]]"));
  const Json one = Document({"exp", "neg"}, {Delegate({"sin", "cos"})});
  EXPECT_THAT(CompareBesides(kExpected, one, {}), HasSubstr("backends"));
  EXPECT_THAT(CompareBesides(one, kExpected, {}), HasSubstr("backends"));
  EXPECT_EQ(CompareBesides(one, kExpected, {.more_delegates = true}), "");
  // Only a delegate that does nothing may be missing.
  EXPECT_THAT(CompareBesides(kExpected, one, {.fewer_delegates = true}), HasSubstr("backends"));
  const Json idle = Document({"exp"}, {Delegate({"sin", "cos"}), Delegate({"aten.copy.default"})});
  const Json busy = Document({"exp"}, {Delegate({"sin", "cos"})});
  EXPECT_THAT(CompareBesides(idle, busy, {}), HasSubstr("backends"));
  EXPECT_THAT(CompareBesides(idle, busy, {.fewer_delegates = true}), "");
}

TEST(CompareBesidesTest, WhatBelongsToADelegateWhoseProgramIsExpected) {
  const auto swapped = [](Json document) {
    Json::Array& delegates =
        *document.get_if<Json::Object>()->at("delegates").get_if<Json::Array>();
    std::swap(delegates[0], delegates[1]);
    return document;
  };
  // "neg" is the same in both.
  const Json expected = swapped(kExpected), came = swapped(kCame);
  EXPECT_EQ(CompareBesides(expected, came, {}), "");
  EXPECT_THAT(CompareBesides(expected, With(came, "processed_text", "x"), {}),
              HasSubstr("delegate 0: processed_text: expected input 0"));
  EXPECT_THAT(CompareBesides(With(expected, "constants_owned", Json::Array{"w"}), came, {}),
              HasSubstr("delegate 0: constants: expected w, came "));
  const Json data = Json::Object{{"buffers", 1}, {"pte", Json::Object{}}};
  EXPECT_THAT(CompareBesides(With(expected, "named_data", data), came, {}),
              HasSubstr("named_data"));
  EXPECT_THAT(CompareBesides(expected, With(came, "named_data", data), {}),
              HasSubstr("named_data"));
  // Of the other nothing is known.
  EXPECT_EQ(CompareBesides(kExpected, With(kCame, "processed_text", "x"), {}), "");
}

TEST(CompareBesidesTest, ExpectedRecordingsAreThoseOfTheirPrograms) {
  const std::string text = kExpected["delegates"].array()[0]["processed_text"].text() + "garbage";
  const Json garbage = With(kExpected, "processed_text", text);
  EXPECT_THAT(CompareBesides(garbage, kCame, {}), HasSubstr("is not that of the expected blob, "));
  EXPECT_THAT(CompareBesides(With(garbage, "processed_bytes_sha256", Sha256(text)), kCame, {}),
              HasSubstr("the expected blob is not that of the expected program"));
}

TEST(CompareBesidesTest, SignatureStateAndNames) {
  const Json named = Document({"exp"}, {Delegate({"sin"}, {"w"})}, {"v"});
  const Json moved = Document({"exp", "sin"}, {Delegate({})}, {"v", "w"});
  EXPECT_THAT(CompareBesides(named, moved, {}), HasSubstr(".state.state_dict"));
  EXPECT_EQ(CompareBesides(named, moved, {.constants = true}), "");
  const Json other = Document({"exp", "sin"}, {Delegate({})}, {"v", "x"});
  EXPECT_THAT(CompareBesides(named, other, {.constants = true}),
              HasSubstr("tensors: expected besides what came: [w], came besides: [x]"));
  const auto with_output = [](Json document, const char* kind) {
    Json::Object& method = *document.get_if<Json::Object>()
                                ->at("methods")
                                .get_if<Json::Object>()
                                ->at("forward")
                                .get_if<Json::Object>();
    method["signature"].get_if<Json::Object>()->at("outputs").get_if<Json::Array>()->push_back(
        Json::Object{{"kind", kind}});
    return document;
  };
  const Json mutates = with_output(kExpected, "buffer_mutation");
  EXPECT_THAT(CompareBesides(mutates, kCame, {}), HasSubstr("signature.outputs"));
  EXPECT_EQ(CompareBesides(mutates, kCame, {.signature = true}), "");
  EXPECT_THAT(CompareBesides(with_output(kExpected, "user_output"), kCame, {.signature = true}),
              HasSubstr("inputs and outputs: expected besides what came: [outputs:user_output]"));
}

TEST(CompareBesidesTest, OperatorsAndProposals) {
  const Json other = Document({"exp", "tan"}, {Delegate({"cos"}), Delegate({"neg"})});
  EXPECT_THAT(CompareBesides(kExpected, other, {}),
              HasSubstr("operators: expected besides what came: [sin], came besides: [tan]"));
  EXPECT_EQ(CompareBesides(kExpected, other, {.operators = true}), "");
  Json proposed = kExpected;
  proposed.get_if<Json::Object>()->insert({"partitions", Json::Array{Json::Object{{"tag", "t"}}}});
  EXPECT_THAT(CompareBesides(proposed, kCame, {}), HasSubstr("partitions: expected"));
  EXPECT_EQ(CompareBesides(proposed, kCame, {.operators = true}), "");
}

}  // namespace
}  // namespace belay::conformance
