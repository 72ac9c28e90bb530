// Executes a program that was lowered without backends, with the kernels of the families that
// CMakeLists.txt links.
//   selected PROGRAM IMAGES.npy LABELS.npy
#include <cstdio>
#include <string>

#include "absl/status/statusor.h"
#include "accuracy.h"
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
  return Accuracy(method.GetOutput(0), labels);
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
