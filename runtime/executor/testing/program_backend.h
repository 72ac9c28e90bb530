// A backend whose blobs are program files.
#ifndef BELAY_RUNTIME_EXECUTOR_TESTING_PROGRAM_BACKEND_H_
#define BELAY_RUNTIME_EXECUTOR_TESTING_PROGRAM_BACKEND_H_

#include <cstddef>
#include <memory>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/backend/delegate_threads.h"
#include "runtime/executor/program_delegate.h"

namespace belay {

// Backend id "program", with the option `threads`. Loads the programs in blobs with the registries,
// which must outlive it.
class ProgramBackend final : public BackendRuntime {
 public:
  ProgramBackend(const KernelRegistry& kernels, const BackendRegistry& backends)
      : kernels_(kernels), backends_(backends) {}
  std::string_view id() const override { return "program"; }
  BackendOptionTable options() const override { return ThreadsOptionTable(); }
  absl::StatusOr<std::unique_ptr<DelegateHandle>> Init(
      const DelegateInitContext& context, absl::Span<const std::byte> blob) const override {
    return OpenProgramDelegate(context, blob, Limits(), kernels_, backends_);
  }

 private:
  const KernelRegistry& kernels_;
  const BackendRegistry& backends_;
};

}  // namespace belay

#endif  // BELAY_RUNTIME_EXECUTOR_TESTING_PROGRAM_BACKEND_H_
