// The runtimes of executorch_backends.h.
#ifndef BELAY_BACKENDS_DEMO_EXECUTORCH_RUNTIMES_H_
#define BELAY_BACKENDS_DEMO_EXECUTORCH_RUNTIMES_H_

#include <memory>

#include "runtime/backend/backend_runtime.h"

namespace belay::demo {

// Interprets blobs of CompilerDemoBackend. sin is x - x³/6, as in ExecuTorch's demo.
class CompilerDemoRuntime final : public BackendRuntime {
 public:
  std::string_view id() const override { return "BackendWithCompilerDemo"; }
  std::string_view target() const override { return "//backends/demo:runtime"; }
  //   kDataLoss         the blob is malformed
  //   kUnimplemented    a version other than 0, or an unknown operator
  //   kInvalidArgument  the blob does not match the call; a result has more elements than the
  //                     compile spec max_value (one byte)
  absl::StatusOr<std::unique_ptr<DelegateHandle>> Init(
      const DelegateInitContext& context, absl::Span<const std::byte> blob) const override;
};

// Validates blobs of DelegateMappingDemoBackend.
class DelegateMappingDemoRuntime final : public BackendRuntime {
 public:
  std::string_view id() const override { return "BackendWithDelegateMappingDemo"; }
  std::string_view target() const override { return "//backends/demo:runtime"; }
  //   kDataLoss  the blob is malformed
  // The handle's Execute is kUnimplemented and lists the instructions with their ids: the blob has
  // no operands.
  absl::StatusOr<std::unique_ptr<DelegateHandle>> Init(
      const DelegateInitContext& context, absl::Span<const std::byte> blob) const override;
};

// Interprets blobs of NamedDataDemoBackend.
class NamedDataDemoRuntime final : public BackendRuntime {
 public:
  std::string_view id() const override { return "BackendWithNamedDataMap"; }
  std::string_view target() const override { return "//backends/demo:runtime"; }
  //   kNotFound         a key without named data
  //   kUnimplemented    named data that defines no known operator
  //   kDataLoss, kInvalidArgument, kResourceExhausted  as MakeChain
  absl::StatusOr<std::unique_ptr<DelegateHandle>> Init(
      const DelegateInitContext& context, absl::Span<const std::byte> blob) const override;
};

// Interprets blobs of PreprocessAllDemoBackend.
class PreprocessAllDemoRuntime final : public BackendRuntime {
 public:
  // `id` is the backend's.
  explicit PreprocessAllDemoRuntime(std::string_view id) : id_(id) {}
  std::string_view id() const override { return id_; }
  std::string_view target() const override { return "//backends/demo:runtime"; }
  //   kNotFound         a constant without named data
  //   kUnimplemented    an unknown operator
  //   kDataLoss         the blob is malformed or belongs to another backend
  //   kDataLoss, kInvalidArgument, kResourceExhausted  as MakeChain
  absl::StatusOr<std::unique_ptr<DelegateHandle>> Init(
      const DelegateInitContext& context, absl::Span<const std::byte> blob) const override;

 private:
  std::string_view id_;
};

}  // namespace belay::demo

#endif  // BELAY_BACKENDS_DEMO_EXECUTORCH_RUNTIMES_H_
