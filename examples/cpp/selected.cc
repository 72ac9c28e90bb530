// Executes a program that was lowered without backends, with the kernels of the families that
// CMakeLists.txt links.
//   selected PROGRAM IMAGES.npy LABELS.npy
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "runtime/backend/backend_registry.h"
#include "runtime/core/npy.h"
#include "runtime/core/status_macros.h"
#include "runtime/executor/method.h"
#include "runtime/kernel_interface/kernel_registry.h"
#include "runtime/kernels/selected_kernels.h"
#include "runtime/program/program.h"

namespace {

// Counts the images [n, 1, 8, 8] whose label [n] has the highest score.
absl::StatusOr<std::string> Classify(const std::string& path, const std::string& images_path,
                                     const std::string& labels_path) {
  belay::KernelRegistry kernels;
  ABSL_RETURN_IF_ERROR(belay::AddSelectedKernels(kernels));
  const belay::BackendRegistry no_backends;
  ABSL_ASSIGN_OR_RETURN(const belay::Program program, belay::Program::Open(path));
  ABSL_ASSIGN_OR_RETURN(belay::Method method,
                        belay::Method::Load(program, "forward", kernels, no_backends));
  ABSL_ASSIGN_OR_RETURN(const belay::NpyArray images, belay::ReadNpyFile(images_path));
  ABSL_ASSIGN_OR_RETURN(const belay::NpyArray labels, belay::ReadNpyFile(labels_path));
  ABSL_RETURN_IF_ERROR(method.SetInput(0, belay::EValue(images.view())));
  ABSL_RETURN_IF_ERROR(method.Execute());
  const belay::TensorView* scores = method.GetOutput(0).get_if<belay::TensorView>();
  if (scores == nullptr || scores->dtype != belay::DType::kFloat32 || !scores->is_contiguous() ||
      scores->sizes.size() != 2 || scores->sizes[1] == 0 || labels.sizes.size() != 1 ||
      labels.dtype != belay::DType::kInt64 || labels.sizes[0] != scores->sizes[0]) {
    return absl::InvalidArgumentError("expected f32[images, classes] and i64[images] labels");
  }
  const int64_t count = scores->sizes[0], classes = scores->sizes[1];
  int64_t correct = 0;
  for (int64_t i = 0; i < count; ++i) {
    const float* row = scores->as<const float>() + classes * i;
    correct +=
        std::max_element(row, row + classes) - row == labels.view().as<const int64_t>()[i] ? 1 : 0;
  }
  return absl::StrCat(correct, " of ", count, " images are classified as labeled");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: selected PROGRAM IMAGES.npy LABELS.npy\n");
    return 2;
  }
  const absl::StatusOr<std::string> result = Classify(argv[1], argv[2], argv[3]);
  if (!result.ok()) {
    std::fprintf(stderr, "%s\n", result.status().ToString().c_str());
    return 3;
  }
  std::printf("%s\n", result->c_str());
  return 0;
}
