#include "conformance/lowering/differences.h"

#include <string>
#include <string_view>

#include "gtest/gtest.h"

namespace belay::conformance {
namespace {

const Difference& Row(std::string_view reason) {
  for (const Difference& row : Differences()) {
    if (row.reason.find(reason) != std::string_view::npos) return row;
  }
  ADD_FAILURE() << "no difference with the reason " << reason;
  return Differences()[0];
}

bool Applies(std::string_view reason, const Json& description, const Json& expected) {
  return Row(reason).applies(description, expected);
}

Json Placeholder(const char* kind, Json target) {
  return Json::Object{{"kind", "placeholder"}, {"input", kind}, {"target", std::move(target)}};
}

Json Method(Json::Array top, Json::Array inputs) {
  return Json::Object{
      {"forward", Json::Object{{"graphs", Json::Object{{"", std::move(top)}}},
                               {"signature", Json::Object{{"inputs", std::move(inputs)}}}}}};
}

TEST(DifferencesTest, GroupsThatNeedEachOther) {
  constexpr std::string_view kReason = "of groups that can't all be kept together";
  const auto rounds = [](const char* kind) {
    return Json::Object{{"rounds", Json::Array{Json::Object{{"kind", kind}}}}};
  };
  const auto error = [](const char* message) {
    return Json::Object{{"error", Json::Object{{"message", message}, {"stage", "fuse"}}}};
  };
  EXPECT_TRUE(
      Applies(kReason, rounds("groups"), error("Invalid partition, found dependency cycles")));
  EXPECT_FALSE(
      Applies(kReason, rounds("tags"), error("Invalid partition, found dependency cycles")));
  EXPECT_FALSE(Applies(kReason, rounds("groups"), error("Cannot determine insertion point")));
}

TEST(DifferencesTest, ConstantTwiceInADelegateOrInTheProgram) {
  constexpr std::string_view kReason = "a delegate has a constant once";
  const Json w = Placeholder("parameter", "w"), v = Placeholder("parameter", "v"),
             lifted = Placeholder("buffer", Json::Object{{"sha256", "0"}});
  const auto in_delegate = [](Json::Array top) {
    return Json::Object{
        {"delegates", Json::Array{Json::Object{{"program", Json::Object{{"", std::move(top)}}}}}}};
  };
  const auto in_program = [](Json::Array top) {
    return Json::Object{{"methods", Method(std::move(top), {})}};
  };
  EXPECT_TRUE(Applies(kReason, Json(), in_delegate({w, v, w})));
  EXPECT_TRUE(Applies(kReason, Json(), in_program({w, v, w})));
  EXPECT_FALSE(Applies(kReason, Json(), in_delegate({w, v})));
  EXPECT_FALSE(Applies(kReason, Json(), in_program({w, v})));
  EXPECT_FALSE(Applies(kReason, Json(), in_program({lifted, lifted})));
}

TEST(DifferencesTest, MutatedBufferInADelegateAndElsewhere) {
  constexpr std::string_view kReason = "a mutated buffer that a partition and others use";
  const auto expected = [](const char* kind, Json::Array inputs) {
    const Json output =
        Json::Object{{"kind", "output"},
                     {"outputs", Json::Array{Json::Object{{"kind", kind}, {"target", "b"}}}}};
    const Json delegate = Json::Object{{"constants_owned", Json::Array{"b"}},
                                       {"program", Json::Object{{"", Json::Array{output}}}}};
    return Json::Object{{"delegates", Json::Array{delegate}},
                        {"methods", Method({}, std::move(inputs))}};
  };
  const Json b = Json::Object{{"kind", "buffer"}, {"target", "b"}},
             c = Json::Object{{"kind", "buffer"}, {"target", "c"}};
  EXPECT_TRUE(Applies(kReason, Json(), expected("buffer_mutation", {c, b})));
  EXPECT_FALSE(Applies(kReason, Json(), expected("buffer_mutation", {c})));
  EXPECT_FALSE(Applies(kReason, Json(), expected("user_output", {c, b})));
}

TEST(DifferencesTest, BufferThatAMethodWritesAndADelegateHas) {
  constexpr std::string_view kReason = "a mutated buffer that a partition and others use";
  const auto document = [](bool writes, Json::Array owned) {
    Json::Object methods = Method({}, {Json::Object{{"kind", "buffer"}, {"target", "b"}}}).object();
    const Json output =
        Json::Object{{"kind", writes ? "buffer_mutation" : "user_output"}, {"target", "b"}};
    Json::Object& signature =
        *methods["forward"].get_if<Json::Object>()->at("signature").get_if<Json::Object>();
    signature["outputs"] = Json::Array{output};
    return Json::Object{
        {"methods", std::move(methods)},
        {"delegates", Json::Array{Json::Object{{"constants_owned", std::move(owned)}}}}};
  };
  EXPECT_TRUE(Applies(kReason, Json(), document(true, {"b"})));
  EXPECT_FALSE(Applies(kReason, Json(), document(true, {"c"})));
  EXPECT_FALSE(Applies(kReason, Json(), document(false, {"b"})));
  // Belay: the method writes it, and no delegate has it.
  const Difference& row = Row(kReason);
  EXPECT_TRUE(row.fits(document(true, {"b"}), document(true, {"c"})));
  EXPECT_FALSE(row.fits(document(true, {"b"}), document(true, {"b"})));
  EXPECT_FALSE(row.fits(document(true, {"b"}), document(false, {"c"})));
}

TEST(DifferencesTest, TupleThatCrosses) {
  constexpr std::string_view kReason = "results are no nodes";
  const auto expected = [](Json entry) {
    return Json::Object{{"methods", Method({std::move(entry)}, {})}};
  };
  const Json tuple = Json::Object{{"kind", "placeholder"}, {"type", Json::Array{Json(), Json()}}},
             tensor = Json::Object{{"kind", "placeholder"}, {"type", Json::Object{}}},
             result = Json::Object{{"node", 0}, {"out", 0}},
             result_of_result = Json::Object{{"node", 0}, {"out", Json::Array{0, 1}}};
  const Json tags = Json::Object{
      {"rounds", Json::Array{Json::Object{
                     {"tags", Json::Array{Json::Object{{"op", "getitem"}, {"tag", "t"}}}}}}}};
  EXPECT_TRUE(Applies(kReason, Json(), expected(tuple)));
  EXPECT_TRUE(Applies(kReason, Json(), expected(result_of_result)));
  // A tag on a result is none where nothing came of it.
  EXPECT_FALSE(Applies(kReason, tags, expected(tensor)));
  EXPECT_FALSE(Applies(kReason, tags, expected(result)));
  EXPECT_TRUE(Applies(kReason, tags, Json::Object{{"error", Json::Object{}}}));
  EXPECT_FALSE(Applies(kReason, Json(), Json::Object{{"error", Json::Object{}}}));
  EXPECT_TRUE(Row(kReason).fits(expected(tuple), expected(result)));
  EXPECT_FALSE(Row(kReason).fits(expected(tuple), expected(tuple)));
}

TEST(DifferencesTest, AttributesAndResultsThatLackAValue) {
  const auto error = [](const char* message) {
    return Json::Object{{"error", Json::Object{{"message", message}}}};
  };
  const Json module = error("Node.meta lowered_module_0 is missing val field."),
             result = error("Node.meta getitem is missing val field.");
  EXPECT_TRUE(Applies("left untagged", Json(), module));
  EXPECT_FALSE(Applies("left untagged", Json(), result));
  EXPECT_FALSE(Applies("crosses by itself", Json(), module));
  EXPECT_TRUE(Applies("crosses by itself", Json(), result));
}

TEST(DifferencesTest, WhatCameIsWhatTheRowSays) {
  const auto document = [](const char* path, const char* kind, const char* op) {
    const Json entry = Json::Object{{"kind", kind}, {"op", op}};
    return Json::Object{
        {"methods",
         Json::Object{
             {"forward", Json::Object{{"graphs", Json::Object{{path, Json::Array{entry}}}}}}}}};
  };
  const Difference& loops = Row("bodies of while_loop");
  EXPECT_TRUE(loops.fits(Json(), document("while_loop#0/body", "delegate", "call")));
  EXPECT_FALSE(loops.fits(Json(), document("while_loop#0/body", "op", "aten.sin.default")));
  EXPECT_FALSE(loops.fits(Json(), document("", "delegate", "call")));
  const Difference& copies = Row("the mutation of an input");
  EXPECT_TRUE(copies.fits(Json(), document("", "op", "aten.sin.default")));
  EXPECT_FALSE(copies.fits(Json(), document("", "op", "aten.copy.default")));
}

TEST(DifferencesTest, PartitionOfWhichNothingIsUsed) {
  constexpr std::string_view kReason = "nothing is used";
  const auto error = [](const char* stage, const char* message) {
    return Json::Object{{"error", Json::Object{{"stage", stage}, {"message", message}}}};
  };
  EXPECT_TRUE(Applies(kReason, Json(), error("fuse", "Cannot determine insertion point for x")));
  EXPECT_FALSE(Applies(kReason, Json(), error("fuse", "found dependency cycles")));
  EXPECT_FALSE(Applies(kReason, Json(), error("splice", "Cannot determine insertion point")));
}

TEST(DifferencesTest, OperatorsThatOneOfSeveralPartitionersKeeps) {
  constexpr std::string_view kReason = "one of several partitioners";
  const auto rounds = [](const char* entry, Json::Array rounds) {
    return Json::Object{{"entry", entry}, {"rounds", std::move(rounds)}};
  };
  const Json keeps = Json::Object{{"ops_to_not_decompose", Json::Array{"aten.linear.default"}}},
             filters = Json::Object{{"ops_to_not_decompose", Json::Array{"aten.linear.default"}},
                                    {"filter", Json::Object{{"kind", "bias_present"}}}},
             none = Json::Object{{"kind", "tags"}};
  EXPECT_TRUE(Applies(kReason, rounds("transform_and_lower", {keeps, none}), Json()));
  EXPECT_TRUE(Applies(kReason, rounds("transform_and_lower", {filters, keeps}), Json()));
  EXPECT_FALSE(Applies(kReason, rounds("transform_and_lower", {keeps, keeps}), Json()));
  EXPECT_FALSE(Applies(kReason, rounds("transform_and_lower", {keeps}), Json()));
  EXPECT_FALSE(Applies(kReason, rounds("transform_and_lower", {none, none}), Json()));
  EXPECT_FALSE(Applies(kReason, rounds("manager", {keeps, none}), Json()));
}

}  // namespace
}  // namespace belay::conformance
