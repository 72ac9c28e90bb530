// Memory of one case: tensors with guard bytes on both sides, values with stable addresses, and the
// allocator of results.
#ifndef BELAY_CONFORMANCE_OPS_CASE_MEMORY_H_
#define BELAY_CONFORMANCE_OPS_CASE_MEMORY_H_

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "conformance/ops/op_case.h"
#include "exir/op_definition/meta_context.h"
#include "exir/op_definition/tensor_meta.h"
#include "runtime/core/arena.h"
#include "runtime/core/evalue.h"
#include "runtime/kernel_interface/kernel.h"

namespace belay::conformance {

// Bytes between two guards that must not be written.
class GuardedBuffer {
 public:
  // Filled with a pattern. kResourceExhausted above 1 GiB.
  static absl::StatusOr<GuardedBuffer> Create(uint64_t bytes);
  std::byte* data() const { return buffer_.data() + kGuard; }
  size_t size() const { return buffer_.size() - 2 * kGuard; }
  bool guards_intact() const;
  // Records the contents for unchanged().
  void Seal() { sealed_.assign(reinterpret_cast<const char*>(data()), size()); }
  bool unchanged() const {
    return sealed_ == std::string_view(reinterpret_cast<const char*>(data()), size());
  }

 private:
  static constexpr size_t kGuard = kArenaAlignment;
  AlignedBuffer buffer_;
  std::string sealed_;
};

// Symbols of data-dependent sizes, with the ranges given by the meta kernel.
class CaseSymbols : public exir::SymbolSource {
 public:
  exir::SymExpr Fresh(exir::SymRange range) override;
  const exir::SymRanges& ranges() const { return ranges_; }

 private:
  exir::SymRanges ranges_;
};

// Owns all memory that the arguments and results of one case point to. Thread-compatible.
class CaseMemory : public OutputAllocator {
 public:
  EValue* NewValue(EValue value);
  EValue* NewList(std::vector<EValue*> elements);
  std::string_view NewString(const std::string& text) { return strings_.emplace_back(text); }

  // Creates a tensor with the case's contents. Its bytes must not change unless `writable`.
  absl::StatusOr<EValue*> NewInput(const CaseTensor& tensor, bool writable);
  // Creates a result as described by the meta kernel. With symbolic sizes, memory is allocated when
  // the kernel resizes it; until then it has its maximum sizes. `meta` and `ranges` must outlive
  // this.
  absl::StatusOr<EValue*> NewOutput(const exir::TensorMeta& meta, const exir::SymRanges& ranges);
  // Allows the kernel to resize a mutable argument (resize_) to the sizes of the meta kernel.
  void MakeResizable(EValue* argument, const exir::TensorMeta& meta, const exir::SymRanges& ranges);

  absl::Status Resize(TensorView& tensor, absl::Span<const int64_t> sizes) override;

  // kInternal: a guard or a read-only input was written.
  absl::Status CheckUntouched() const;

 private:
  struct Input {
    const GuardedBuffer* buffer;
    bool writable;
  };
  struct Result {
    const exir::TensorMeta* meta;
    const exir::SymRanges* ranges;
  };
  absl::Status Allocate(TensorView& tensor, const Sizes& sizes, const Strides& strides);

  std::deque<EValue> values_;
  std::deque<std::vector<EValue*>> lists_;
  std::deque<std::string> strings_;
  std::deque<GuardedBuffer> buffers_;
  std::vector<Input> inputs_;
  std::map<const TensorView*, Result> results_;
};

}  // namespace belay::conformance

#endif  // BELAY_CONFORMANCE_OPS_CASE_MEMORY_H_
