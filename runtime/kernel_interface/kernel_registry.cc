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
  // Finds duplicates among the new rows before anything changes here.
  absl::flat_hash_map<std::string_view, std::vector<const Kernel*>> added;
  for (const Kernel& kernel : kernels) {
    std::vector<const Kernel*>& fresh = added[kernel.op];
    const auto same_name = [&](const Kernel* other) { return other->name == kernel.name; };
    if (std::any_of(fresh.begin(), fresh.end(), same_name)) return Duplicate(kernel);
    if (const auto it = rows_.find(kernel.op); it != rows_.end()) {
      if (std::any_of(it->second.begin(), it->second.end(), same_name)) return Duplicate(kernel);
    }
    fresh.push_back(&kernel);
  }
  for (const Kernel& kernel : kernels) rows_[kernel.op].push_back(&kernel);
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
