#include "runtime/kernel_interface/kernel_registry.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace belay {
namespace {

absl::Status Duplicate(const Kernel& kernel) {
  return absl::AlreadyExistsError(
      absl::StrCat(kernel.op, " already has a kernel named ", kernel.name));
}

}  // namespace

absl::Status KernelRegistry::Add(absl::Span<const Kernel> kernels) {
  // This is a quarter of the time in which a small converted program opens: one map, few rehashes.
  rows_.reserve(rows_.size() + kernels.size());
  for (size_t i = 0; i < kernels.size(); ++i) {
    std::vector<const Kernel*>& rows = rows_[kernels[i].op];
    const auto same_name = [&](const Kernel* other) { return other->name == kernels[i].name; };
    if (std::any_of(rows.begin(), rows.end(), same_name)) {
      // The rows of this call are the last ones of their operators.
      for (size_t k = i; k-- > 0;) {
        const auto added = rows_.find(kernels[k].op);
        added->second.pop_back();
        if (added->second.empty()) rows_.erase(added);
      }
      return Duplicate(kernels[i]);
    }
    rows.push_back(&kernels[i]);
  }
  return absl::OkStatus();
}

const Kernel* KernelRegistry::Find(std::string_view op, const KernelContext& context) const {
  const auto it = rows_.find(op);
  if (it == rows_.end()) return nullptr;
  const std::vector<const Kernel*>& rows = it->second;
  for (auto row = rows.rbegin(); row != rows.rend(); ++row) {
    if ((*row)->Accepts(context)) return *row;
  }
  return nullptr;
}

std::vector<const Kernel*> KernelRegistry::Candidates(std::string_view op) const {
  const auto it = rows_.find(op);
  if (it == rows_.end()) return {};
  return std::vector<const Kernel*>(it->second.rbegin(), it->second.rend());
}

std::vector<std::string_view> KernelRegistry::Operators() const {
  std::vector<std::string_view> operators;
  operators.reserve(rows_.size());
  for (const auto& [op, rows] : rows_) operators.push_back(op);
  std::sort(operators.begin(), operators.end());
  return operators;
}

}  // namespace belay
