// Inputs of a method as in `belay run --input`: `.npy` files for a program with tensors of static
// and dynamic sizes, scalars, and a mutated input.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "fuzz/generators/byte_source.h"
#include "fuzz/oracles/require.h"
#include "fuzz/oracles/typed_status.h"
#include "fuzz/targets/test_doubles.h"
#include "runtime/core/npy.h"
#include "runtime/core/status_macros.h"
#include "runtime/executor/method.h"
#include "runtime/executor/testing/program_builder.h"
#include "runtime/executor/testing/sample_program.h"
#include "runtime/io/npy_values.h"

namespace {

using namespace belay;

// The sample program with a valid blob for its backend.
const Program& Sample() {
  static const Program& program = *[] {
    std::string file = SampleProgram().Serialize();
    file.replace(file.rfind("blob"), 4, "add1");
    auto opened = OpenFileBytes(file);
    ABSL_CHECK(opened.ok());
    return new Program(*std::move(opened));
  }();
  return program;
}

absl::Status RunOnce(fuzz::ByteSource& source, Method& method) {
  const MethodPlan& plan = method.plan();
  std::vector<NpyArray> arrays(plan.inputs.size());
  for (size_t i = 0; i < plan.inputs.size(); ++i) {
    EValue value = ConstantInput(plan, i);
    if (InputTakesArray(plan, i) && !source.Chance(10)) {
      const std::string_view file = source.Text(512);
      ABSL_ASSIGN_OR_RETURN(
          arrays[i], ReadNpy(absl::MakeConstSpan(reinterpret_cast<const std::byte*>(file.data()),
                                                 file.size())));
      ABSL_ASSIGN_OR_RETURN(value, InputFromNpy(plan, i, arrays[i]));
    }
    ABSL_RETURN_IF_ERROR(method.SetInput(i, value));
  }
  ABSL_RETURN_IF_ERROR(method.Execute());
  for (size_t i = 0; i < method.num_outputs(); ++i) {
    ABSL_RETURN_IF_ERROR(NpyBytesOf(method.GetOutput(i)).status());
  }
  return absl::OkStatus();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto method = Method::Load(Sample(), "forward", fuzz::KernelDoubles(), fuzz::BackendDoubles());
  fuzz::Require(method.status());
  fuzz::ByteSource source(data, size);
  for (int call = 0; call < 2; ++call) {
    absl::Status status = RunOnce(source, *method);
    // The fake backend's error for a negative number.
    if (status.code() == absl::StatusCode::kUnavailable) continue;
    fuzz::Require(fuzz::CheckTyped("call", status, fuzz::kExecutionCodes));
  }
  return 0;
}
