#include "fuzz/negative/read_blob.h"

#include <vector>

#include "runtime/core/status_macros.h"
#include "runtime/executor/method.h"
#include "runtime/executor/testing/program_builder.h"
#include "runtime/program/program.h"

namespace belay::fuzz {

Limits TightLimits() {
  Limits limits;
  limits.file_bytes = 16 << 20;
  limits.metadata_bytes = 8 << 20;
  limits.arena_bytes = 16 << 20;
  limits.scratch_bytes = 16 << 20;
  limits.delegate_bytes = 16 << 20;
  limits.executed_instructions = 1'000'000;
  return limits;
}

absl::Status ReadBlob(std::string_view backend, const std::string& blob,
                      const KernelRegistry& kernels, const BackendRegistry& backends) {
  TestProgram program;
  const uint32_t segment = program.AddSegment(schema::Segment::DELEGATE, blob);
  const uint32_t zeros = program.AddConstant(std::vector<float>(6));
  TestMethod forward = program.AddMethod("forward");
  const uint32_t x = forward.Constant(zeros, DType::kFloat32, {2, 3});
  forward.Delegate(std::string(backend), segment, {x}, {forward.Arena(DType::kFloat32, {2, 3})});
  Program::Options options;
  options.limits = TightLimits();
  ABSL_ASSIGN_OR_RETURN(const Program opened, OpenFileBytes(program.Serialize(), options));
  ABSL_ASSIGN_OR_RETURN(Method method, Method::Load(opened, "forward", kernels, backends));
  return method.Execute();
}

}  // namespace belay::fuzz
