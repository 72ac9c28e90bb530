#include "runtime/program/operand_overlap.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/core/status_macros.h"

namespace belay {
namespace {

absl::Status OverlapError(uint32_t a, uint32_t b, bool same_value, const MetadataPath& path) {
  if (same_value) {
    return path.Error(absl::StrCat("value ", a, " is written and is another operand as well"));
  }
  return path.Error(
      absl::StrCat("value ", a, " is written and overlaps value ", b, " in the arena"));
}

}  // namespace

void OperandOverlap::Clear() {
  arguments_.clear();
  outputs_.clear();
}

void OperandOverlap::Add(uint32_t value, std::vector<Range>& ranges) {
  if (const auto* list = std::get_if<ListPlan>(&values_[value])) {
    for (const uint32_t element : list->elements) Add(element, ranges);  // lists hold no lists
    return;
  }
  const auto* tensor = std::get_if<TensorPlan>(&values_[value]);
  if (tensor == nullptr) return;
  if (tensor->location != TensorPlan::Location::kArena) {
    ranges.push_back({tensor->location, value, uint64_t{value} + 1, value});
    return;
  }
  if (tensor->bytes() == 0) return;
  ranges.push_back({tensor->location, tensor->offset, tensor->offset + tensor->bytes(), value});
}

void OperandOverlap::AddArgument(uint32_t value) { Add(value, arguments_); }
void OperandOverlap::AddOutput(uint32_t value) { Add(value, outputs_); }

absl::Status OperandOverlap::Check(bool in_place, const MetadataPath& path) {
  std::sort(outputs_.begin(), outputs_.end());
  for (size_t i = 1; i < outputs_.size(); ++i) {
    const Range& a = outputs_[i - 1];
    const Range& b = outputs_[i];
    if (a.space == b.space && b.begin < a.end) {
      return OverlapError(a.value, b.value, a.value == b.value, path);
    }
  }
  for (const Range& argument : arguments_) {
    // Outputs are disjoint: those that meet the argument are the ones before its end, backwards.
    auto output = std::lower_bound(outputs_.begin(), outputs_.end(),
                                   Range{argument.space, argument.end, argument.end, 0});
    while (output != outputs_.begin()) {
      --output;
      if (output->space != argument.space || output->end <= argument.begin) break;
      const bool same = output->value == argument.value;
      if (!same || !in_place || ++output->uses > 1) {
        return OverlapError(output->value, argument.value, same, path);
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace belay
