// Checks that lowering does not copy weights and does not depend on threads or hash seeds, at any
// size.
#include <string>
#include <vector>

#include "exir/backend/testing/recording_backend.h"
#include "exir/backend/tests/scale/scale_program.h"
#include "exir/backend/to_backend.h"
#include "exir/emit/emitter.h"
#include "exir/ir/text.h"
#include "exir/ops/standard_ops.h"
#include "exir/serialize/serializer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

using ::testing::HasSubstr;

const OpRegistry& Ops() {
  static const OpRegistry& ops = *CreateStandardOps()->release();
  return ops;
}

// The blob is the program's text, so that blobs show any difference.
class Lowering {
 public:
  Lowering()
      : backend_("recorder", [](ExportedProgram program, absl::Span<const CompileSpec>) {
          return PreprocessResult{.processed = TextStorage(PrintProgram(program))};
        }) {
    EXPECT_TRUE(backends_.Add(&backend_).ok());
    partitioner_.tag_constants = true;
  }
  absl::StatusOr<ExportedProgram> Run(const ExportedProgram& program, int threads = 1) const {
    ToBackendOptions options;
    options.threads = threads;
    return ToBackend(program, partitioner_, backends_, options);
  }

 private:
  FunctionBackend backend_;
  BackendSet backends_;
  TextPartitioner partitioner_;
};

TEST(LoweringScaleTest, CopiesNoWeights) {
  ASSERT_OK_AND_ASSIGN(const ExportedProgram program, CreateScaleProgram(Ops(), 20'000, 50));
  const size_t before = PeakMemory();
  ASSERT_OK_AND_ASSIGN(const ExportedProgram lowered, Lowering().Run(program));
  size_t constants = 0, shared = 0;
  const auto count = [&](const ConstantMap& map) {
    for (const auto& [name, tensor] : map) {
      ++constants;
      shared += tensor.storage().bytes.data() == program.state_dict.at(name).storage().bytes.data();
    }
  };
  count(lowered.state_dict);
  for (const auto& module : lowered.lowered_modules) count(module->original.state_dict);
  EXPECT_GE(constants, 200);
  EXPECT_EQ(shared, constants);
  // 200 MiB of weights, which must not be read at all.
  RecordProperty("bytes_taken", static_cast<int>(PeakMemory() - before));
#if !defined(__SANITIZE_ADDRESS__) && !__has_feature(address_sanitizer)
  EXPECT_LT(PeakMemory() - before, size_t{100} << 20);
#endif
}

TEST(LoweringScaleTest, BytesAreIndependentOfThreadsAndRuns) {
  ASSERT_OK_AND_ASSIGN(const ExportedProgram program, CreateScaleProgram(Ops(), 2'000, 40));
  std::string first;
  // Each registry and each program has other addresses, on which pointer hashes and Abseil's seed
  // depend.
  for (const int threads : {1, 8, 1, 3}) {
    const std::unique_ptr<OpRegistry> ops = *CreateStandardOps();
    ASSERT_OK_AND_ASSIGN(const ExportedProgram own, CreateScaleProgram(*ops, 2'000, 40));
    ASSERT_OK_AND_ASSIGN(ExportedProgram lowered, Lowering().Run(own, threads));
    MethodPrograms methods;
    methods.emplace_back("forward", std::move(lowered));
    ASSERT_OK_AND_ASSIGN(const ProgramImage image, EmitProgram(methods));
    ASSERT_OK_AND_ASSIGN(const SerializedProgram file, SerializeProgram(image));
    const std::string bytes = file.ToString();
    if (first.empty()) first = bytes;
    EXPECT_TRUE(bytes == first) << threads << " threads";
  }
}

TEST(ScaleProgramTest, RejectsImpossiblePartitions) {
  EXPECT_THAT(CreateScaleProgram(Ops(), 10, 11),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("11 partitions of 10 nodes")));
  EXPECT_THAT(CreateScaleProgram(Ops(), 10, 0), StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace belay::exir
