#include "tools/belay/backend_options.h"

#include <cstdint>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/test_in_directory.h"
#include "runtime/core/testing.h"
#include "tools/belay/captured_outcome.h"
#include "tools/belay/command.h"

namespace belay::tools {
namespace {

using ::testing::HasSubstr;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr char kMlp[] = "conformance/models/zoo/mlp/model.pt2";

TEST(BackendOptionsTest, ParsesByBackendAndOption) {
  ASSERT_OK_AND_ASSIGN(const BackendSettings options,
                       ParseBackendOptions({"cpu.threads=1", "XnnpackBackend.threads=2"}));
  const BackendOptions expected = {{"cpu", {{"threads", int64_t{1}}}},
                                   {"XnnpackBackend", {{"threads", int64_t{2}}}}};
  EXPECT_EQ(options.values(), expected);
  EXPECT_TRUE(ParseBackendOptions({}).value().values().empty());
}

TEST(BackendOptionsTest, RejectsOtherFormats) {
  for (const std::string text : {"", "cpu", "cpu.threads", "cpu=1", ".threads=1", "cpu.=1", "=."}) {
    EXPECT_THAT(ParseBackendOptions({text}),
                StatusIs(kInvalid, HasSubstr("expected BACKEND.OPTION=VALUE")))
        << text;
  }
}

TEST(BackendOptionsTest, RejectsUnknownNamesAndValues) {
  EXPECT_THAT(ParseBackendOptions({"npu.threads=1"}),
              StatusIs(kInvalid, HasSubstr("unknown backend 'npu'; expected one of: ")));
  EXPECT_THAT(ParseBackendOptions({"cpu.speed=1"}),
              StatusIs(kInvalid, HasSubstr("it has threads: int, 1 to 256, default 256")));
  EXPECT_THAT(ParseBackendOptions({"cpu.threads=many"}),
              StatusIs(kInvalid, HasSubstr("expected int, 1 to 256; got string 'many'")));
  EXPECT_THAT(ParseBackendOptions({"cpu.threads=1", "cpu.threads=2"}),
              StatusIs(kInvalid, HasSubstr("'cpu.threads' is given twice")));
}

class BackendOptionCommandTest : public TestInDirectory {
 protected:
  void SetUp() override {
    TestInDirectory::SetUp();
    ASSERT_EQ(Capture([&] {
                return Lower({.input = kMlp, .output = Path("p.belay"), .backends = {"cpu"}});
              }).status,
              kDone);
  }
  Outcome RunWith(const std::vector<std::string>& options) const {
    return Capture([&] {
      return tools::Run(
          {.program = Path("p.belay"), .backend_options = options, .seed = 1, .threads = 2});
    });
  }
  Outcome BenchWith(const std::vector<std::string>& options) const {
    return Capture([&] {
      return Bench({.program = Path("p.belay"),
                    .seconds = 0.001,
                    .threads = 2,
                    .backend_options = options,
                    .json = true});
    });
  }
};

TEST_F(BackendOptionCommandTest, ResultsAreTheSame) {
  const Outcome limited = RunWith({"cpu.threads=1"});
  EXPECT_EQ(limited.status, kDone) << limited.errors;
  EXPECT_EQ(limited.output, RunWith({}).output);
  EXPECT_EQ(BenchWith({"cpu.threads=1"}).status, kDone);
}

TEST_F(BackendOptionCommandTest, OptionsWithoutAnEffectAreBadUsage) {
  for (const Outcome& outcome :
       {RunWith({"XnnpackBackend.threads=1"}), BenchWith({"XnnpackBackend.threads=1"})}) {
    EXPECT_EQ(outcome.status, kBadUsage);
    EXPECT_THAT(outcome.errors, HasSubstr("no delegate of the backend 'XnnpackBackend'; it has "
                                          "delegates of cpu"));
  }
}

TEST_F(BackendOptionCommandTest, InvalidOptionsAreBadUsage) {
  EXPECT_EQ(RunWith({"cpu.threads=0"}).status, kBadUsage);
  EXPECT_EQ(BenchWith({"cpu.threads=0"}).status, kBadUsage);
}

}  // namespace
}  // namespace belay::tools
