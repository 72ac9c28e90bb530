// What a backend is ahead of time: it compiles sub-programs to blobs.
//
// Source: docs/lowering.md §1 rows 1–7, §3. Backends are values in a registry that is passed in; nothing
// registers itself.
#ifndef BELAY_EXIR_BACKEND_BACKEND_H_
#define BELAY_EXIR_BACKEND_BACKEND_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "exir/ir/exported_program.h"
#include "exir/ir/lowered_backend_module.h"

namespace belay::exir {

struct PreprocessResult {
  Storage processed;  // may be empty
  DebugHandleMap debug_handle_map = {};
  NamedDataOutput named_data = {};
  std::string delegate_info = {};  // opaque, for reports; never serialized
};

// One partition as a backend gets it. The program is the backend's own: isolated from the owner,
// constants shared.
struct PartitionInput {
  ExportedProgram program;
  std::vector<CompileSpec> compile_specs;
  std::string tag = {};  // for messages
};
// In method order; only methods that have a partition for the backend.
using MethodPartitions = std::vector<std::pair<std::string, std::vector<PartitionInput>>>;
using MethodResults = std::vector<std::pair<std::string, std::vector<PreprocessResult>>>;

// Stateless; all functions may be called from several threads at once.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string_view id() const = 0;
  // The Bazel targets that provide the two sides, for messages: "//backends/demo:aot".
  virtual std::string_view target() const { return ""; }
  // Whether its runtime takes and gives tensors that lie on the device, which a compile spec names
  // (exir/backend/transforms/target_device.h). Lowering for another is refused.
  virtual bool SupportsDevice(const Device& device) const { return device.type == "cpu"; }

  // Compiles an edge program whose constants are inputs of kind parameter, buffer or tensor
  // constant. May change it freely. Errors are passed to the caller annotated with backend, method,
  // tag and partition index.
  virtual absl::StatusOr<PreprocessResult> Preprocess(
      ExportedProgram program, absl::Span<const CompileSpec> compile_specs) const = 0;
  // Compiles all partitions of all methods together. The reply must have the same methods, each
  // with as many results as it had partitions; the caller checks. At most so many threads may be
  // used, and the reply must not depend on their number. Default: Preprocess for each, in order;
  // the first error in that order is returned, annotated with method, partition index and tag.
  virtual absl::StatusOr<MethodResults> PreprocessMultimethod(MethodPartitions methods,
                                                              int threads) const;
};

// Thread-compatible; backends are referenced and must outlive it.
class BackendSet {
 public:
  // kAlreadyExists when there is one of this id.
  absl::Status Add(const Backend* backend);
  // kNotFound "Backend X was not found", listing the ids there are.
  absl::StatusOr<const Backend*> Find(std::string_view id) const;
  std::vector<std::string_view> Ids() const;  // sorted

 private:
  std::vector<const Backend*> backends_;
};

}  // namespace belay::exir

#endif  // BELAY_EXIR_BACKEND_BACKEND_H_
