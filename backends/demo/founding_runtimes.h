// The run-time side of the founding demos.
#ifndef BELAY_BACKENDS_DEMO_FOUNDING_RUNTIMES_H_
#define BELAY_BACKENDS_DEMO_FOUNDING_RUNTIMES_H_

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

}  // namespace belay::demo

#endif  // BELAY_BACKENDS_DEMO_FOUNDING_RUNTIMES_H_
