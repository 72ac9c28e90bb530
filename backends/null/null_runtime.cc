#include "backends/null/null_runtime.h"

#include "runtime/core/status_macros.h"

namespace belay::null {
namespace {

class NullHandle final : public DelegateHandle {
 public:
  absl::Status Execute(KernelContext&) override { return absl::OkStatus(); }
};

}  // namespace

absl::StatusOr<std::unique_ptr<DelegateHandle>> NullRuntime::Init(
    const DelegateInitContext& context, absl::Span<const std::byte> blob) const {
  if (!blob.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the blob must be empty, but has ", blob.size(), " bytes"));
  }
  if (!context.outputs.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the call has ", context.outputs.size(), " outputs, the blob computes none"));
  }
  return std::make_unique<NullHandle>();
}

}  // namespace belay::null
