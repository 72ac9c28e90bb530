#include "exir/backend/testing/expect_lowered.h"

#include "exir/backend/to_backend.h"
#include "exir/ir/text.h"
#include "exir/ir/verifier.h"
#include "exir/testing/programs.h"
#include "exir/testing/test_ops.h"
#include "gtest/gtest.h"
#include "runtime/core/status_macros.h"

namespace belay::exir {

TextPartitioner Constants(std::vector<std::pair<std::string, std::string>> constants) {
  TextPartitioner partitioner;
  partitioner.constants = std::move(constants);
  return partitioner;
}

TextPartitioner AllConstants() {
  TextPartitioner partitioner;
  partitioner.tag_constants = true;
  return partitioner;
}

absl::StatusOr<ExportedProgram> Lower(const ExportedProgram& program,
                                      const TextPartitioner& partitioner,
                                      std::vector<std::string>* notes) {
  const FunctionBackend recorder("recorder"), other("other");
  BackendSet backends;
  ABSL_RETURN_IF_ERROR(backends.Add(&recorder));
  ABSL_RETURN_IF_ERROR(backends.Add(&other));
  ToBackendOptions options;
  options.notes = notes;
  return ToBackend(program, partitioner, backends, options);
}

void ExpectLowered(std::string_view text, const TextPartitioner& partitioner,
                   std::string_view expected, std::vector<std::string>* notes) {
  const ExportedProgram program = ParseOrDie(text, TestOps());
  const std::string before = PrintProgram(program);
  absl::StatusOr<ExportedProgram> lowered = Lower(program, partitioner, notes);
  ASSERT_TRUE(lowered.ok()) << lowered.status();
  EXPECT_EQ(PrintProgram(program), before);
  EXPECT_EQ(PrintProgram(*lowered), PrintProgram(ParseOrDie(expected, TestOps())));
  for (const auto& module : lowered->lowered_modules) {
    EXPECT_TRUE(Verify(module->original).ok()) << Verify(module->original);
  }
}

}  // namespace belay::exir
