#include "conformance/lowering/differences.h"

#include <string>
#include <string_view>

#include "gtest/gtest.h"

namespace belay::conformance {
namespace {

bool Applies(std::string_view reason, const Json& description, const Json& expected) {
  for (const Difference& row : Differences()) {
    if (row.reason.find(reason) != std::string_view::npos) {
      return row.applies(description, expected);
    }
  }
  ADD_FAILURE() << "no difference with the reason " << reason;
  return false;
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
