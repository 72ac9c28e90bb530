// Manifest of a model folder: inputs and expected results of each case. README.md describes the
// format.
#ifndef BELAY_CONFORMANCE_MODELS_MANIFEST_H_
#define BELAY_CONFORMANCE_MODELS_MANIFEST_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/core/dtype.h"

namespace belay::conformance {

struct Leaf {
  // "tensor", "int", "float", "bool", "str" or "none". In addition, not in manifests: "array", a
  // tensor of the file's dtype.
  std::string kind;
  DType dtype = DType::kFloat32;  // of a tensor
  std::vector<int64_t> shape;
  std::string file;  // "" without a file
};
struct ModelCase {
  std::vector<Leaf> inputs, outputs;
  std::vector<std::pair<std::string, Leaf>> buffers_after;  // by name
  std::vector<std::pair<size_t, Leaf>> inputs_after;        // by flattened index
};
struct Manifest {
  std::string name;
  std::vector<std::pair<std::string, std::string>> archives;  // file → dialect
  std::vector<ModelCase> cases;
  double atol = 0, rtol = 0;
  bool stateful_sequence = false;
};

// kInvalidArgument names the path of unknown fields, missing fields and wrong types. Nothing is
// skipped.
absl::StatusOr<Manifest> ReadManifest(const std::string& path);

}  // namespace belay::conformance

#endif  // BELAY_CONFORMANCE_MODELS_MANIFEST_H_
