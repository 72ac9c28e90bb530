// The ahead-of-time interface of a backend: compiles subprograms to blobs.
//
// Source: docs/lowering.md §1 rows 1–7, §3. Backends are values in a registry that callers pass in;
// there is no static registration.
#ifndef BELAY_EXIR_BACKEND_BACKEND_H_
#define BELAY_EXIR_BACKEND_BACKEND_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
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
  DelegateCost cost = {};
};

// One partition, as passed to a backend. The backend owns the program; it is independent of the
// original program and shares its constants.
struct PartitionInput {
  ExportedProgram program;
  std::vector<CompileSpec> compile_specs;
  std::string tag = {};  // for messages
};
// In method order; only methods that have a partition for the backend.
using MethodPartitions = std::vector<std::pair<std::string, std::vector<PartitionInput>>>;
using MethodResults = std::vector<std::pair<std::string, std::vector<PreprocessResult>>>;

// Stateless; all functions may be called concurrently.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string_view id() const = 0;
  // The Bazel targets of the ahead-of-time and the runtime part, for messages:
  // "//backends/demo:aot".
  virtual std::string_view target() const { return ""; }
  // Returns whether the backend's runtime accepts and returns tensors on the device that a compile
  // spec names (exir/backend/transforms/target_device.h). Lowering for other devices is rejected.
  virtual bool SupportsDevice(const Device& device) const { return device.type == "cpu"; }

  // Compiles an edge program whose constants are inputs of kind parameter, buffer or tensor
  // constant. May modify `program`. Errors are passed to the caller annotated with backend, method,
  // tag and partition index.
  virtual absl::StatusOr<PreprocessResult> Preprocess(
      ExportedProgram program, absl::Span<const CompileSpec> compile_specs) const = 0;
  // Compiles all partitions of all methods together. The reply must have the same methods, each
  // with one result per partition; the caller checks this. May use up to `threads` threads; the
  // reply must not depend on their number. Default: calls Preprocess for each partition in order.
  // Of its errors the first in that order is returned, annotated with method, partition index and
  // tag.
  virtual absl::StatusOr<MethodResults> PreprocessMultimethod(MethodPartitions methods,
                                                              int threads) const;

 protected:
  // PreprocessMultimethod in rounds: partition i, counted over all methods, runs in round
  // `rounds[i]`, after all partitions of lower rounds. Calls `end_round` after each round. Of the
  // errors of the first round that fails, the first in order is returned.
  absl::StatusOr<MethodResults> PreprocessInRounds(MethodPartitions methods,
                                                   absl::Span<const int> rounds, int threads,
                                                   absl::FunctionRef<void()> end_round) const;
};

// Thread-compatible. Stores pointers: backends must outlive the set.
class BackendSet {
 public:
  // kAlreadyExists if a backend with this id exists.
  absl::Status Add(const Backend* backend);
  // kNotFound "Backend X was not found", listing the known ids.
  absl::StatusOr<const Backend*> Find(std::string_view id) const;
  std::vector<std::string_view> Ids() const;  // sorted

 private:
  std::vector<const Backend*> backends_;
};

}  // namespace belay::exir

#endif  // BELAY_EXIR_BACKEND_BACKEND_H_
