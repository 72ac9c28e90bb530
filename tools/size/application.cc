// application PROGRAM INPUT.npy: calls the method "forward" with one tensor, and prints the argmax
// of each row of the result. A minimal application: its size is that of the linked runtime.
#include REGISTRIES  // application::Kernels() and Backends()

#include <algorithm>
#include <cstdio>
#include <string_view>

#include "runtime/core/npy.h"
#include "runtime/core/status_macros.h"
#include "runtime/executor/method.h"
#include "runtime/program/program.h"

namespace belay {
namespace {

absl::Status Run(const char* program_path, const char* input_path) {
  ABSL_ASSIGN_OR_RETURN(const Program program, Program::Open(program_path));
  ABSL_ASSIGN_OR_RETURN(Method method, Method::Load(program, "forward", application::Kernels(),
                                                    application::Backends()));
  ABSL_ASSIGN_OR_RETURN(const NpyArray input, ReadNpyFile(input_path));
  ABSL_RETURN_IF_ERROR(method.SetInput(0, EValue(input.view())));
  ABSL_RETURN_IF_ERROR(method.Execute());
  const TensorView* scores = method.GetOutput(0).get_if<TensorView>();
  if (scores == nullptr || scores->dtype != DType::kFloat32 || !scores->is_contiguous() ||
      scores->sizes.size() != 2 || scores->sizes[1] == 0) {
    return absl::InvalidArgumentError("expected a program that returns f32[n, classes]");
  }
  const int64_t classes = scores->sizes[1];
  for (int64_t i = 0; i < scores->sizes[0]; ++i) {
    const float* row = scores->as<float>() + classes * i;
    std::printf("%d\n", static_cast<int>(std::max_element(row, row + classes) - row));
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace belay

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const absl::Status status = belay::Run(argv[1], argv[2]);
  if (status.ok()) return 0;
  std::fwrite(status.message().data(), 1, status.message().size(), stderr);
  return 1;
}
