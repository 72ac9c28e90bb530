// The runtime: creates executable handles from blobs.
#ifndef BELAY_BACKENDS_NULL_NULL_RUNTIME_H_
#define BELAY_BACKENDS_NULL_NULL_RUNTIME_H_

#include <memory>

#include "runtime/backend/backend_runtime.h"

namespace belay::null {

class NullRuntime final : public BackendRuntime {
 public:
  std::string_view id() const override { return "null"; }
  std::string_view target() const override { return "//backends/null:runtime"; }
  // Accepts the empty blob of a call without outputs, which computes nothing.
  absl::StatusOr<std::unique_ptr<DelegateHandle>> Init(
      const DelegateInitContext& context, absl::Span<const std::byte> blob) const override;
};

}  // namespace belay::null

#endif  // BELAY_BACKENDS_NULL_NULL_RUNTIME_H_
