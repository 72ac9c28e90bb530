// The runtime of the demo backend: interprets demo_blob.proto.
#ifndef BELAY_BACKENDS_DEMO_DEMO_RUNTIME_H_
#define BELAY_BACKENDS_DEMO_DEMO_RUNTIME_H_

#include <memory>

#include "runtime/backend/backend_runtime.h"

namespace belay::demo {

class DemoRuntime final : public BackendRuntime {
 public:
  std::string_view id() const override { return "demo"; }
  std::string_view target() const override { return "//backends/demo:runtime"; }
  // Allocates memory for intermediate results at the largest sizes of the arguments.
  //   kDataLoss           the blob is malformed
  //   kInvalidArgument    the blob does not match the call
  //   kUnimplemented      an unknown version or operator
  //   kResourceExhausted  intermediate results need more than 4 GiB, or more than the delegates'
  //                       budget
  absl::StatusOr<std::unique_ptr<DelegateHandle>> Init(
      const DelegateInitContext& context, absl::Span<const std::byte> blob) const override;
};

}  // namespace belay::demo

#endif  // BELAY_BACKENDS_DEMO_DEMO_RUNTIME_H_
