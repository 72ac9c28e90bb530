#include "runtime/kernel_interface/kernel_registry.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/hash/hash.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace belay {
namespace {

absl::Status Duplicate(const Kernel& kernel) {
  return absl::AlreadyExistsError(
      absl::StrCat(kernel.op, " already has a kernel named ", kernel.name));
}

uint32_t HashOfOperator(std::string_view op) { return static_cast<uint32_t>(absl::HashOf(op)); }

// Returns nullopt if the row rejects the call, else its working memory. Parses the call once.
std::optional<uint64_t> ScratchBytesIfAccepted(const Kernel& kernel, const KernelContext& context) {
  if (kernel.accepts_call == nullptr && kernel.scratch_bytes_of_call == nullptr) return 0;
  alignas(kCallAlignment) std::byte call[kMaxCallBytes];
  const bool is_parsed = kernel.read_call(context, kernel.signature, call).ok();
  if (kernel.accepts_call != nullptr && !(is_parsed && kernel.accepts_call(context, call))) {
    return std::nullopt;
  }
  return is_parsed && kernel.scratch_bytes_of_call != nullptr
             ? kernel.scratch_bytes_of_call(context, call)
             : 0;
}

}  // namespace

size_t KernelRegistry::SlotOf(std::string_view op, uint32_t hash) const {
  const size_t mask = slots_.size() - 1;
  size_t slot = hash & mask;
  for (; slots_[slot] != kNone; slot = (slot + 1) & mask) {
    const Row& row = rows_[slots_[slot]];
    if (row.hash == hash && row.kernel->op == op) break;
  }
  return slot;
}

uint32_t KernelRegistry::Top(std::string_view op) const {
  return slots_.empty() ? kNone : slots_[SlotOf(op, HashOfOperator(op))];
}

void KernelRegistry::Grow(size_t rows) {
  if (slots_.size() >= 2 * rows) return;
  size_t size = std::max<size_t>(slots_.size(), 64);
  while (size < 4 * rows) size *= 2;
  rows_.reserve(size / 2);
  slots_.assign(size, kNone);
  // The names of rows differ unless one is below the other, which comes first.
  for (uint32_t i = 0; i < rows_.size(); ++i) {
    const Row& row = rows_[i];
    const size_t mask = size - 1;
    size_t slot = row.hash & mask;
    while (slots_[slot] != kNone && slots_[slot] != row.below) slot = (slot + 1) & mask;
    slots_[slot] = i;
  }
}

void KernelRegistry::RemoveAfter(size_t count) {
  for (; rows_.size() > count; rows_.pop_back()) {
    const Row& row = rows_.back();
    // The last row of its operator, and the last operator that was given a slot if it is the first
    // one: no other operator was placed after this slot.
    slots_[SlotOf(row.kernel->op, row.hash)] = row.below;
  }
}

absl::Status KernelRegistry::Add(absl::Span<const Kernel> kernels) {
  const size_t before = rows_.size();
  Grow(before + kernels.size());
  for (const Kernel& kernel : kernels) {
    const uint32_t hash = HashOfOperator(kernel.op);
    const size_t slot = SlotOf(kernel.op, hash);
    for (uint32_t i = slots_[slot]; i != kNone; i = rows_[i].below) {
      if (rows_[i].kernel->name == kernel.name) {
        RemoveAfter(before);
        return Duplicate(kernel);
      }
    }
    rows_.push_back({.kernel = &kernel, .hash = hash, .below = slots_[slot]});
    slots_[slot] = static_cast<uint32_t>(rows_.size() - 1);
  }
  return absl::OkStatus();
}

const Kernel* KernelRegistry::Find(std::string_view op, const KernelContext& context,
                                   uint64_t* scratch_bytes) const {
  for (uint32_t i = Top(op); i != kNone; i = rows_[i].below) {
    const Kernel& kernel = *rows_[i].kernel;
    const std::optional<uint64_t> bytes = ScratchBytesIfAccepted(kernel, context);
    if (!bytes.has_value()) continue;
    if (scratch_bytes != nullptr) *scratch_bytes = *bytes;
    return &kernel;
  }
  return nullptr;
}

std::vector<const Kernel*> KernelRegistry::Candidates(std::string_view op) const {
  std::vector<const Kernel*> kernels;
  for (uint32_t i = Top(op); i != kNone; i = rows_[i].below) kernels.push_back(rows_[i].kernel);
  return kernels;
}

std::vector<std::string_view> KernelRegistry::Operators() const {
  std::vector<std::string_view> operators;
  for (const uint32_t row : slots_) {
    if (row != kNone) operators.push_back(rows_[row].kernel->op);
  }
  std::sort(operators.begin(), operators.end());
  return operators;
}

}  // namespace belay
