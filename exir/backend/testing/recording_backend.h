// Backends and a partitioner for tests of lowering.
#ifndef BELAY_EXIR_BACKEND_TESTING_RECORDING_BACKEND_H_
#define BELAY_EXIR_BACKEND_TESTING_RECORDING_BACKEND_H_

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "exir/backend/backend.h"
#include "exir/backend/partitioner.h"

namespace belay::exir {

// A backend whose blob is computed from the program by a function; "" by default.
class FunctionBackend final : public Backend {
 public:
  using Function = std::function<absl::StatusOr<PreprocessResult>(ExportedProgram,
                                                                  absl::Span<const CompileSpec>)>;
  explicit FunctionBackend(std::string id, Function function = nullptr)
      : id_(std::move(id)), function_(std::move(function)) {}
  std::string_view id() const override { return id_; }
  absl::StatusOr<PreprocessResult> Preprocess(
      ExportedProgram program, absl::Span<const CompileSpec> compile_specs) const override {
    if (function_ == nullptr) return PreprocessResult();
    return function_(std::move(program), compile_specs);
  }

 private:
  std::string id_;
  Function function_;
};

// A backend that implements PreprocessMultimethod by a function.
class MultimethodBackend final : public Backend {
 public:
  using Function = std::function<absl::StatusOr<MethodResults>(MethodPartitions)>;
  MultimethodBackend(std::string id, Function function)
      : id_(std::move(id)), function_(std::move(function)) {}
  std::string_view id() const override { return id_; }
  absl::StatusOr<PreprocessResult> Preprocess(ExportedProgram,
                                              absl::Span<const CompileSpec>) const override {
    return absl::UnimplementedError("only all methods at once");
  }
  absl::StatusOr<MethodResults> PreprocessMultimethod(MethodPartitions methods,
                                                      int) const override {
    return function_(std::move(methods));
  }

 private:
  std::string id_;
  Function function_;
};

// Returns the tags of the text form: nodes with `tag="…"`. Tags of constants are given here. A tag
// maps to the backend that `delegation` gives for it, or to "recorder".
struct TextPartitioner final : public Partitioner {
  absl::StatusOr<PartitionResult> Partition(const ExportedProgram& program) const override;

  std::vector<std::pair<std::string, std::string>> constants;  // name of the input, tag
  std::vector<std::string> no_copy;                            // names of inputs
  bool tag_constants = false;  // TagConstantData and TagMutatedBuffers
  // In this order; tags that are not listed follow in order of appearance.
  std::vector<std::pair<std::string, DelegationSpec>> delegation;
  bool only_given_delegation = false;
};

// Returns the bytes of a string.
Storage TextStorage(std::string_view text);
std::string TextOf(const Storage& storage);

}  // namespace belay::exir

#endif  // BELAY_EXIR_BACKEND_TESTING_RECORDING_BACKEND_H_
