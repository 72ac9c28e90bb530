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

void OperandOverlap::AddArgument(uint32_t value) { arguments_.push_back(value); }
void OperandOverlap::AddOutput(uint32_t value) { outputs_.push_back(value); }

template <class Visit>
bool OperandOverlap::ForEachTensor(uint32_t value, const Visit& visit) const {
  if (const auto* list = std::get_if<ListPlan>(&values_[value])) {
    for (const uint32_t element : list->elements) {
      if (!ForEachTensor(element, visit)) return false;  // lists hold no lists
    }
    return true;
  }
  const auto* tensor = std::get_if<TensorPlan>(&values_[value]);
  if (tensor == nullptr) return true;
  if (tensor->location == TensorPlan::Location::kArena && tensor->bytes() == 0) return true;
  return visit(value);
}

OperandOverlap::Range OperandOverlap::RangeOf(uint32_t value) const {
  const auto& tensor = std::get<TensorPlan>(values_[value]);
  if (tensor.location != TensorPlan::Location::kArena) {
    return {tensor.location, value, uint64_t{value} + 1, value};
  }
  return {tensor.location, tensor.offset, tensor.offset + tensor.bytes(), value};
}

bool OperandOverlap::MayLieOver(const Range& output, const Range& argument,
                                OutputOverArgument over) const {
  if (over == OutputOverArgument::kNever || output.space != TensorPlan::Location::kArena ||
      output.begin != argument.begin || output.end != argument.end) {
    return false;
  }
  const auto& out = std::get<TensorPlan>(values_[output.value]);
  const auto& in = std::get<TensorPlan>(values_[argument.value]);
  if (out.dtype != in.dtype) return false;
  return over == OutputOverArgument::kSameBytes ||
         (out.sizes == in.sizes && out.dim_order == in.dim_order &&
          out.dynamic_dims == in.dynamic_dims);
}

absl::Status OperandOverlap::CheckArgument(uint32_t value, bool in_place, OutputOverArgument over,
                                           const MetadataPath& path) {
  const Range argument = RangeOf(value);
  // Outputs are disjoint: those that meet the argument are the ones before its end, backwards.
  auto output = std::lower_bound(written_.begin(), written_.end(),
                                 Range{argument.space, argument.end, argument.end, 0});
  while (output != written_.begin()) {
    --output;
    if (output->space != argument.space || output->end <= argument.begin) break;
    const bool same = output->value == argument.value;
    if (same ? !in_place || ++output->uses > 1 : !MayLieOver(*output, argument, over)) {
      return OverlapError(output->value, argument.value, same, path);
    }
  }
  return absl::OkStatus();
}

absl::Status OperandOverlap::Check(bool in_place, OutputOverArgument over,
                                   const MetadataPath& path) {
  written_.clear();
  for (const uint32_t output : outputs_) {
    // With more ranges than there are values, one is there twice, which is found below.
    const auto add = [&](uint32_t value) {
      written_.push_back(RangeOf(value));
      return written_.size() <= values_.size();
    };
    if (!ForEachTensor(output, add)) break;
  }
  std::sort(written_.begin(), written_.end());
  for (size_t i = 1; i < written_.size(); ++i) {
    const Range& a = written_[i - 1];
    const Range& b = written_[i];
    if (a.space == b.space && b.begin < a.end) {
      return OverlapError(a.value, b.value, a.value == b.value, path);
    }
  }
  if (written_.empty()) return absl::OkStatus();
  absl::Status status;
  for (const uint32_t argument : arguments_) {
    const auto check = [&](uint32_t value) {
      status = CheckArgument(value, in_place, over, path);
      return status.ok();
    };
    if (!ForEachTensor(argument, check)) break;
  }
  return status;
}

}  // namespace belay
