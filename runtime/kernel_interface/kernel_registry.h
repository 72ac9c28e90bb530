// The set of kernels that programs may use: a value that is built from tables and passed in.
#ifndef BELAY_RUNTIME_KERNEL_INTERFACE_KERNEL_REGISTRY_H_
#define BELAY_RUNTIME_KERNEL_INTERFACE_KERNEL_REGISTRY_H_

#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "runtime/kernel_interface/kernel.h"

namespace belay {

// Thread-compatible; const use is thread-safe. Rows are referenced and must outlive the registry
// (they are constants).
class KernelRegistry {
 public:
  // Adds rows; later ones are preferred. kAlreadyExists (nothing added) if an operator already has
  // a row of the same name.
  absl::Status Add(absl::Span<const Kernel> kernels);

  // Returns the last added row of `op` whose Accepts() returns true; nullptr if every row rejects
  // the call.
  const Kernel* Find(std::string_view op, const KernelContext& context) const;
  // Returns all rows of `op`, most preferred first; empty for an unknown operator.
  std::vector<const Kernel*> Candidates(std::string_view op) const;
  bool Contains(std::string_view op) const { return rows_.contains(op); }
  // All operators, sorted.
  std::vector<std::string_view> Operators() const;

 private:
  absl::flat_hash_map<std::string_view, std::vector<const Kernel*>> rows_;
};

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNEL_INTERFACE_KERNEL_REGISTRY_H_
