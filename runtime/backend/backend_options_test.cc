#include "runtime/backend/backend_options.h"

#include <cstdint>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay {
namespace {

using ::testing::Pair;
using ::testing::UnorderedElementsAre;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

const std::vector<BackendOption>& Table() {
  static const auto& table = *new std::vector<BackendOption>{
      {.name = "threads", .default_value = int64_t{4}, .min = 1, .max = 8},
      {.name = "seed", .default_value = int64_t{-1}},
      {.name = "fast", .default_value = false},
      {.name = "device", .default_value = std::string("any")},
  };
  return table;
}

absl::Status Check(std::string_view name, const OptionValue& value) {
  return CheckOption("npu", Table(), name, value).status();
}
absl::StatusOr<OptionValue> Parse(std::string_view name, std::string_view text) {
  return ParseOption("npu", Table(), name, text);
}

TEST(BackendOptionsTest, AcceptsValuesOfTheType) {
  EXPECT_OK(Check("threads", int64_t{1}));
  EXPECT_OK(Check("threads", int64_t{8}));
  EXPECT_OK(Check("seed", INT64_MIN));
  EXPECT_OK(Check("fast", true));
  EXPECT_OK(Check("device", std::string("gpu")));
}

TEST(BackendOptionsTest, ListsOptionsIfTheNameIsUnknown) {
  EXPECT_THAT(Check("thread\n\x1b", int64_t{1}),
              StatusIs(kInvalid,
                       "backend 'npu' has no option 'thread\n\\x1b'; it has threads: int, 1 to 8, "
                       "default 4; seed: int, default -1; fast: bool, default false; "
                       "device: string, default 'any'"));
  EXPECT_THAT(CheckOption("null", {}, "x", true).status(),
              StatusIs(kInvalid, "backend 'null' has no option 'x'; it has none"));
}

TEST(BackendOptionsTest, RejectsOtherTypes) {
  EXPECT_THAT(
      Check("threads", true),
      StatusIs(kInvalid, "option 'threads' of backend 'npu': expected int, 1 to 8; got bool true"));
  EXPECT_THAT(
      Check("fast", std::string("yes")),
      StatusIs(kInvalid, "option 'fast' of backend 'npu': expected bool; got string 'yes'"));
  EXPECT_THAT(Check("device", int64_t{0}),
              StatusIs(kInvalid, "option 'device' of backend 'npu': expected string; got int 0"));
}

TEST(BackendOptionsTest, RejectsValuesOutOfRange) {
  for (const int64_t value : {int64_t{0}, int64_t{9}}) {
    EXPECT_THAT(Check("threads", value),
                StatusIs(kInvalid, absl::StrCat("option 'threads' of backend 'npu': expected int, "
                                                "1 to 8; got ",
                                                value)));
  }
}

TEST(BackendOptionsTest, ParsesByType) {
  EXPECT_EQ(Parse("threads", "3").value(), OptionValue(int64_t{3}));
  EXPECT_EQ(Parse("fast", "true").value(), OptionValue(true));
  EXPECT_EQ(Parse("fast", "false").value(), OptionValue(false));
  EXPECT_EQ(Parse("device", "3").value(), OptionValue(std::string("3")));
  EXPECT_THAT(Parse("threads", "9"), StatusIs(kInvalid));
  EXPECT_THAT(Parse("threads", "many"),
              StatusIs(kInvalid,
                       "option 'threads' of backend 'npu': expected int, 1 to 8; got string "
                       "'many'"));
  EXPECT_THAT(Parse("fast", "1"), StatusIs(kInvalid));
  EXPECT_THAT(Parse("none", "1"), StatusIs(kInvalid));
}

TEST(BackendOptionsTest, ResolvesDefaults) {
  ASSERT_OK_AND_ASSIGN(const OptionValues values,
                       ResolveOptions("npu", Table(), {{"fast", true}, {"threads", int64_t{2}}}));
  EXPECT_THAT(values, UnorderedElementsAre(Pair("threads", OptionValue(int64_t{2})),
                                           Pair("seed", OptionValue(int64_t{-1})),
                                           Pair("fast", OptionValue(true)),
                                           Pair("device", OptionValue(std::string("any")))));
  EXPECT_THAT(ResolveOptions("npu", Table(), {{"fast", int64_t{1}}}), StatusIs(kInvalid));
}

TEST(BackendOptionsTest, FormatsValues) {
  EXPECT_EQ(FormatOptionValue(true), "true");
  EXPECT_EQ(FormatOptionValue(int64_t{-3}), "-3");
  EXPECT_EQ(FormatOptionValue(std::string("a b")), "a b");
}

}  // namespace
}  // namespace belay
