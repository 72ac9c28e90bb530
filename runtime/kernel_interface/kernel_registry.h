// The set of kernels that programs may use: a value that is built from tables and passed in.
#ifndef BELAY_RUNTIME_KERNEL_INTERFACE_KERNEL_REGISTRY_H_
#define BELAY_RUNTIME_KERNEL_INTERFACE_KERNEL_REGISTRY_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

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
  // the call. Sets `scratch_bytes`, if it is given, to the row's ScratchBytes(): the call is parsed
  // once.
  const Kernel* Find(std::string_view op, const KernelContext& context,
                     uint64_t* scratch_bytes = nullptr) const;
  // Returns all rows of `op`, most preferred first; empty for an unknown operator.
  std::vector<const Kernel*> Candidates(std::string_view op) const;
  bool Contains(std::string_view op) const { return Top(op) != kNone; }
  // All operators, sorted.
  std::vector<std::string_view> Operators() const;

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  struct Row {
    const Kernel* kernel;
    uint32_t hash;   // of the operator
    uint32_t below;  // the operator's row that was added before; kNone for its first row
  };

  // The slot of `op`: that of its last row, or the empty one where it would be.
  size_t SlotOf(std::string_view op, uint32_t hash) const;
  // Index of the last row of `op`; kNone for an unknown operator.
  uint32_t Top(std::string_view op) const;
  void Grow(size_t rows);
  // Removes the last rows until `count` are left.
  void RemoveAfter(size_t count);

  // Opening a small program adds all kernels of the binary: one allocation for the rows, one for
  // the table, and no second hash of a name. With absl::flat_hash_map, a quantized
  // MobileNetV4-small opens in 0.59 instead of 0.53 ms (AMD EPYC, family 26, model 2).
  std::vector<Row> rows_;
  // Open addressing: index of the last row of an operator, or kNone. The size is a power of two, at
  // least twice the number of rows.
  std::vector<uint32_t> slots_;
};

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNEL_INTERFACE_KERNEL_REGISTRY_H_
