// The run-time side of the founding demos (executorch_backends.h).
#ifndef BELAY_BACKENDS_DEMO_EXECUTORCH_RUNTIMES_H_
#define BELAY_BACKENDS_DEMO_EXECUTORCH_RUNTIMES_H_

#include <memory>

#include "runtime/backend/backend_runtime.h"

namespace belay::demo {

// Interprets what CompilerDemoBackend writes. A sine is x - x³/6, as the first demo had it.
class CompilerDemoRuntime final : public BackendRuntime {
 public:
  std::string_view id() const override { return "BackendWithCompilerDemo"; }
  std::string_view target() const override { return "//backends/demo:runtime"; }
  //   kDataLoss         the blob is malformed
  //   kUnimplemented    another version than 0, or an unknown operator
  //   kInvalidArgument  it does not fit the call; a result has more elements than the compile spec
  //                     max_value (one byte) says
  absl::StatusOr<std::unique_ptr<DelegateHandle>> Init(
      const DelegateInitContext& context, absl::Span<const std::byte> blob) const override;
};

// Checks what DelegateMappingDemoBackend writes.
class DelegateMappingDemoRuntime final : public BackendRuntime {
 public:
  std::string_view id() const override { return "BackendWithDelegateMappingDemo"; }
  std::string_view target() const override { return "//backends/demo:runtime"; }
  //   kDataLoss  the blob is malformed
  // The handle's Execute is kUnimplemented and lists the instructions with their ids: such a blob
  // has no operands to compute with.
  absl::StatusOr<std::unique_ptr<DelegateHandle>> Init(
      const DelegateInitContext& context, absl::Span<const std::byte> blob) const override;
};

// Interprets what NamedDataDemoBackend writes.
class NamedDataDemoRuntime final : public BackendRuntime {
 public:
  std::string_view id() const override { return "BackendWithNamedDataMap"; }
  std::string_view target() const override { return "//backends/demo:runtime"; }
  //   kNotFound         a key without data
  //   kUnimplemented    data that defines no operator of this build
  //   kDataLoss, kInvalidArgument, kResourceExhausted  as MakeChain
  absl::StatusOr<std::unique_ptr<DelegateHandle>> Init(
      const DelegateInitContext& context, absl::Span<const std::byte> blob) const override;
};

// Interprets what PreprocessAllDemoBackend writes.
class PreprocessAllDemoRuntime final : public BackendRuntime {
 public:
  // `id`: as the backend's.
  explicit PreprocessAllDemoRuntime(std::string_view id) : id_(id) {}
  std::string_view id() const override { return id_; }
  std::string_view target() const override { return "//backends/demo:runtime"; }
  //   kNotFound         a constant without data
  //   kUnimplemented    an unknown operator
  //   kDataLoss         the blob is malformed or another backend's
  //   kDataLoss, kInvalidArgument, kResourceExhausted  as MakeChain
  absl::StatusOr<std::unique_ptr<DelegateHandle>> Init(
      const DelegateInitContext& context, absl::Span<const std::byte> blob) const override;

 private:
  std::string_view id_;
};

}  // namespace belay::demo

#endif  // BELAY_BACKENDS_DEMO_EXECUTORCH_RUNTIMES_H_
