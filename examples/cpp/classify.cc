// Opens a program file, executes it and reads the result, with the C++ library of the package.
//   classify PROGRAM IMAGES.npy LABELS.npy
#include <cstdio>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "accuracy.h"
#include "bindings/cpp/module.h"
#include "runtime/core/npy.h"
#include "runtime/core/status_macros.h"

namespace {

// Counts the images [n, 1, 8, 8] whose label [n] has the highest score.
absl::StatusOr<std::string> Classify(const std::string& path, const std::string& images_path,
                                     const std::string& labels_path) {
  belay::Module module(path);
  ABSL_ASSIGN_OR_RETURN(const belay::NpyArray images, belay::ReadNpyFile(images_path));
  ABSL_ASSIGN_OR_RETURN(const belay::NpyArray labels, belay::ReadNpyFile(labels_path));
  ABSL_ASSIGN_OR_RETURN(const std::vector<belay::EValue> outputs,
                        module.forward({belay::EValue(images.view())}));
  return Accuracy(outputs[0], labels);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: classify PROGRAM IMAGES.npy LABELS.npy\n");
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
