// From the archive to tokens: equal to those of PyTorch.
#include "examples/llama/generate.h"

#include <memory>
#include <string>
#include <vector>

#include "backends/aot_backends.h"
#include "exir/ops/standard_ops.h"
#include "exir/pipeline.h"
#include "exir/serialize/serializer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/npy.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/testing.h"
#include "runtime/program/program.h"

namespace belay::examples {
namespace {

using ::testing::HasSubstr;

constexpr char kData[] = "examples/llama/data/";
constexpr char kArchive[] = "examples/llama/data/llama.pt2";

std::vector<int64_t> Tokens(const std::string& name) {
  const auto array = ReadNpyFile(kData + name);
  EXPECT_OK(array.status());
  const auto* first = array->view().as<const int64_t>();
  return {first, first + array->view().numel()};
}

// Writes a program file with these methods.
absl::Status LowerTo(const std::string& path, const std::string& backend,
                     const std::vector<std::string>& methods, bool in_place = true) {
  ABSL_ASSIGN_OR_RETURN(const auto ops, exir::CreateStandardOps());
  exir::PipelineOptions options;
  options.backends = &AotBackends();
  options.emit.write_state_in_place = in_place;
  std::unique_ptr<exir::Partitioner> partitioner;
  if (!backend.empty()) {
    ABSL_ASSIGN_OR_RETURN(partitioner, CreatePartitioner(backend, {}));
    options.partitioners.all.push_back(partitioner.get());
  }
  std::vector<exir::MethodArchive> archives;
  for (const std::string& name : methods) archives.push_back({name, kArchive, name});
  ABSL_ASSIGN_OR_RETURN(const exir::ProgramImage image, exir::LowerFiles(archives, *ops, options));
  return exir::WriteProgramFile(image, path);
}

class GenerateTest : public ::testing::TestWithParam<std::string> {
 protected:
  std::string Path() const {
    return ::testing::TempDir() + "/llama_" + (GetParam().empty() ? "kernels" : GetParam());
  }
};

TEST_P(GenerateTest, TokensMatchPyTorch) {
  const std::vector<int64_t> prompt = Tokens("prompt.npy"), want = Tokens("tokens.npy");
  for (const bool in_place : {true, false}) {
    ASSERT_OK(LowerTo(Path(), GetParam(), {"prefill", "decode"}, in_place));
    for (const int threads : {1, 3}) {
      const GenerateOptions options{.program = Path(),
                                    .prompt = prompt,
                                    .count = static_cast<int>(want.size()),
                                    .threads = threads};
      ASSERT_OK_AND_ASSIGN(const Generation got, Generate(options));
      EXPECT_EQ(got.tokens, want);
      EXPECT_EQ(got.state_bytes, 4u * 2 * 40 * 12 * 4);  // keys and values of two layers, once
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, GenerateTest, ::testing::Values("", "cpu"),
                         [](const auto& info) {
                           return info.param.empty() ? "kernels" : info.param;
                         });

TEST(GenerateFileTest, WeightsAndCacheAreShared) {
  const std::string one = ::testing::TempDir() + "/decode", two = ::testing::TempDir() + "/both";
  ASSERT_OK(LowerTo(one, "cpu", {"decode"}));
  ASSERT_OK(LowerTo(two, "cpu", {"prefill", "decode"}));
  ASSERT_OK_AND_ASSIGN(const Program alone, Program::Open(one));
  ASSERT_OK_AND_ASSIGN(const Program both, Program::Open(two));
  const auto weights = [](const Program& program) {
    uint64_t bytes = 0;
    for (const SegmentPlan& segment : program.segments()) {
      if (segment.kind == SegmentPlan::Kind::kNamedData) bytes += segment.bytes.size();
    }
    return bytes;
  };
  EXPECT_GT(weights(alone), 100'000u);
  EXPECT_EQ(weights(both), weights(alone));
  // The cache is written row by row and passed to delegates in place.
  for (const MethodPlan& method : both.methods()) {
    EXPECT_EQ(method.state.size(), 4u) << method.name;
    EXPECT_FALSE(method.delegates.empty()) << method.name;
    EXPECT_THAT(method.operators, ::testing::ElementsAre("aten.index_put_.default"));
  }
}

TEST(GenerateErrorTest, ReportsErrors) {
  const std::string path = ::testing::TempDir() + "/errors";
  ASSERT_OK(LowerTo(path, "cpu", {"prefill", "decode"}));
  EXPECT_THAT(Generate({.program = path}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("prompt")));
  EXPECT_THAT(Generate({.program = path, .prompt = std::vector<int64_t>(41, 1)}),
              StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("41")));
  // The cache has 40 rows.
  EXPECT_OK(Generate({.program = path, .prompt = {1}, .count = 40}).status());
  EXPECT_FALSE(Generate({.program = path, .prompt = {1}, .count = 41}).ok());
  EXPECT_FALSE(Generate({.program = path, .prompt = {64}}).ok());  // the vocabulary has 64 tokens
  ASSERT_OK(LowerTo(path, "cpu", {"decode"}));
  EXPECT_THAT(Generate({.program = path, .prompt = {1}}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("'prefill'")));
}

}  // namespace
}  // namespace belay::examples
