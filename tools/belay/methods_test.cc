// Several methods in one file, with shared state and constants.
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/npy.h"
#include "runtime/core/test_in_directory.h"
#include "runtime/core/testing.h"
#include "runtime/program/program.h"
#include "tools/belay/captured_outcome.h"
#include "tools/belay/command.h"

namespace belay::tools {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kZoo[] = "conformance/models/zoo";

class MethodsTest : public TestInDirectory {
 protected:
  static std::string Zoo(const std::string& path) { return std::string(kZoo) + "/" + path; }

  Outcome LowerMethods(const std::vector<std::string>& methods) {
    LowerOptions options;
    options.output = Path("m.belay");
    options.methods = methods;
    return Capture([&] { return Lower(options); });
  }
  Outcome RunSequence(const std::vector<std::string>& sequence) {
    RunOptions options;
    options.program = Path("m.belay");
    options.output_dir = Path("out");
    options.sequence = sequence;
    return Capture([&] { return tools::Run(options); });
  }
  // Compares output 0 of a call of RunSequence with a file of float32.
  void ExpectOutput(int call, const std::string& golden) {
    ASSERT_OK_AND_ASSIGN(const NpyArray got,
                         ReadNpyFile(Path("out/" + std::to_string(call) + "/0.npy")));
    ASSERT_OK_AND_ASSIGN(const NpyArray want, ReadNpyFile(golden));
    const std::vector<float> a = ToVector<float>(got.view()), b = ToVector<float>(want.view());
    ASSERT_EQ(a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 1e-4) << "call " << call;
  }
};

TEST_F(MethodsTest, PrefillAndDecodeShareCacheAndWeights) {
  const std::string prefill = Zoo("llama_kv_prefill/model.pt2"),
                    decode = Zoo("llama_kv_decode/model.pt2");
  ASSERT_EQ(LowerMethods({"prefill=" + prefill}).status, kDone);
  const uintmax_t alone = fs::file_size(Path("m.belay"));
  const Outcome lowered = LowerMethods({"prefill=" + prefill, "decode=" + decode});
  ASSERT_EQ(lowered.status, kDone);
  EXPECT_THAT(lowered.output, HasSubstr("state shared by prefill, decode: "));
  EXPECT_THAT(lowered.output, Not(HasSubstr("state that is not shared")));
  // Weights are stored once: the second method only adds its instructions.
  ASSERT_OK_AND_ASSIGN(const Program program, Program::Open(Path("m.belay")));
  EXPECT_LT(fs::file_size(Path("m.belay")), alone + program.metadata_bytes() + 65536);
  uint64_t constants = 0;
  for (const SegmentPlan& segment : program.segments()) {
    if (segment.kind == SegmentPlan::Kind::kConstants ||
        segment.kind == SegmentPlan::Kind::kNamedData) {
      constants += segment.bytes.size();
    }
  }
  EXPECT_LT(constants, alone);
  for (const MethodPlan& method : program.methods()) EXPECT_FALSE(method.delegates.empty());

  // Five tokens, one, ten: equal to prefill only, with the middle one by decode.
  ASSERT_EQ(RunSequence({"prefill=" + Zoo("llama_kv_prefill/case_0"),
                         "decode=" + Zoo("llama_kv_prefill/case_1"),
                         "prefill=" + Zoo("llama_kv_prefill/case_2")})
                .status,
            kDone);
  for (int call = 0; call < 3; ++call) {
    ExpectOutput(call, Zoo("llama_kv_prefill/case_" + std::to_string(call) + "/output_0.npy"));
  }
  // Repeated calls of one method have their own state.
  ASSERT_EQ(RunSequence({"decode=" + Zoo("llama_kv_decode/case_0"),
                         "decode=" + Zoo("llama_kv_decode/case_1"),
                         "decode=" + Zoo("llama_kv_decode/case_2")})
                .status,
            kDone);
  for (int call = 0; call < 3; ++call) {
    ExpectOutput(call, Zoo("llama_kv_decode/case_" + std::to_string(call) + "/output_0.npy"));
  }
}

TEST_F(MethodsTest, NamesMissingMethodOfSequence) {
  ASSERT_EQ(LowerMethods({"decode=" + Zoo("llama_kv_decode/model.pt2")}).status, kDone);
  const Outcome outcome = RunSequence(
      {"decode=" + Zoo("llama_kv_decode/case_0"), "encode=" + Zoo("llama_kv_decode/case_0")});
  EXPECT_NE(outcome.status, kDone);
  EXPECT_THAT(outcome.errors, HasSubstr("'encode'"));
}

TEST_F(MethodsTest, NamesMissingFolderOfSequence) {
  ASSERT_EQ(LowerMethods({"decode=" + Zoo("llama_kv_decode/model.pt2")}).status, kDone);
  const Outcome outcome = RunSequence({"decode=nosuchdir"});
  EXPECT_EQ(outcome.status, kBadInput);
  EXPECT_THAT(outcome.errors, HasSubstr("nosuchdir"));
  EXPECT_EQ(outcome.output, "");
}

TEST_F(MethodsTest, ListsUnknownOperatorsOfAllMethods) {
  const Outcome outcome =
      LowerMethods({"a=" + Zoo("custom_operator/model.pt2"),
                    "b=" + Zoo("custom_operator/training.pt2"), "c=" + Zoo("mlp/model.pt2")});
  EXPECT_EQ(outcome.status, kUnsupported);
  const std::string& errors = outcome.errors;
  for (const char* method : {"method 'a': ", "method 'b': "})
    EXPECT_THAT(errors, HasSubstr(method));
  EXPECT_THAT(errors, HasSubstr("unknown operator zoo.scaled_swish.default, used 1 time: "
                                "node 'scaled_swish' at "));
  EXPECT_FALSE(fs::exists(Path("m.belay")));
}

}  // namespace
}  // namespace belay::tools
