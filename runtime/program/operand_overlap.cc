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
    return path.Error(absl::StrCat("value ", a, " is written and is also another operand"));
  }
  return path.Error(
      absl::StrCat("value ", a, " is written and overlaps value ", b, " in the arena"));
}

}  // namespace

OperandOverlap::Range OperandOverlap::RangeOf(uint32_t value) const {
  const ValuePlan& plan = values_[value];
  Range range;
  range.value = value;
  const auto* tensor = std::get_if<TensorPlan>(&plan);
  if (tensor == nullptr) {
    range.is_list = std::holds_alternative<ListPlan>(plan);
    return range;
  }
  range.space = tensor->location;
  if (tensor->location == TensorPlan::Location::kArena) {
    range.begin = tensor->offset;
    range.end = tensor->offset + tensor->max_bytes;  // inside the arena
  } else {
    range.begin = value;
    range.end = uint64_t{value} + 1;
  }
  return range;
}

template <class Visit>
bool OperandOverlap::ForEachRange(uint32_t value, const Visit& visit) const {
  const Range range = RangeOf(value);
  if (range.begin != range.end) return visit(range);
  return !range.is_list || ForEachElement(value, visit);
}

template <class Visit>
bool OperandOverlap::ForEachElement(uint32_t list, const Visit& visit) const {
  for (const uint32_t element : std::get<ListPlan>(values_[list]).elements) {
    const Range range = RangeOf(element);  // lists are not nested
    if (range.begin != range.end && !visit(range)) return false;
  }
  return true;
}

bool OperandOverlap::AllowsOverlap(const Range& output, const Range& argument,
                                   OutputOverArgument over) const {
  if (over == OutputOverArgument::kNever || output.begin != argument.begin) return false;
  const auto& out = std::get<TensorPlan>(values_[output.value]);
  const auto& in = std::get<TensorPlan>(values_[argument.value]);
  if (out.dtype != in.dtype) return false;
  if (output.end != argument.end) {
    // Bounds of a reshaped tensor may have more elements than those of its argument. In a call,
    // both have equally many.
    return over == OutputOverArgument::kSameBytes && out.dynamic_dims != 0 && in.dynamic_dims != 0;
  }
  return over == OutputOverArgument::kSameBytes ||
         (out.sizes == in.sizes && out.dim_order == in.dim_order &&
          out.dynamic_dims == in.dynamic_dims);
}

bool OperandOverlap::MayIntersect(const Range& output, absl::Span<const uint32_t> arguments) const {
  bool may = output.is_list;
  for (const uint32_t argument : arguments) {
    const Range range = RangeOf(argument);
    may |= range.is_list ||
           (range.space == output.space && range.begin < output.end && output.begin < range.end);
  }
  return may;
}

absl::Status OperandOverlap::CheckArgument(const Range& argument, bool in_place,
                                           OutputOverArgument over, const MetadataPath& path) {
  // Outputs are disjoint and sorted: walk back from the last one that begins before the argument's
  // end.
  auto output = written_.end();
  if (written_.size() > 1) {
    Written end;
    end.space = argument.space;
    end.begin = argument.end;
    output = std::lower_bound(written_.begin(), written_.end(), end);
  } else if (output[-1].space == argument.space && output[-1].begin >= argument.end) {
    return absl::OkStatus();
  }
  while (output != written_.begin()) {
    --output;
    if (output->space != argument.space || output->end <= argument.begin) break;
    const bool same = output->value == argument.value;
    if (same ? !in_place || ++output->uses > 1 : !AllowsOverlap(*output, argument, over)) {
      return OverlapError(output->value, argument.value, same, path);
    }
  }
  return absl::OkStatus();
}

absl::Status OperandOverlap::Check(absl::Span<const uint32_t> arguments,
                                   absl::Span<const uint32_t> outputs, bool in_place,
                                   OutputOverArgument over, const MetadataPath& path) {
  if (outputs.size() == 1 && !MayIntersect(RangeOf(outputs[0]), arguments)) return absl::OkStatus();
  written_.clear();
  for (const uint32_t output : outputs) {
    // With more ranges than values, one occurs twice; the check below finds it.
    const auto add = [&](const Range& range) {
      written_.push_back({range});
      return written_.size() <= values_.size();
    };
    if (!ForEachRange(output, add)) break;
  }
  if (written_.empty()) return absl::OkStatus();
  if (written_.size() > 1) std::sort(written_.begin(), written_.end());
  for (size_t i = 1; i < written_.size(); ++i) {
    const Written& a = written_[i - 1];
    const Written& b = written_[i];
    if (a.space == b.space && b.begin < a.end) {
      return OverlapError(a.value, b.value, a.value == b.value, path);
    }
  }
  absl::Status status;
  for (const uint32_t argument : arguments) {
    const auto check = [&](const Range& range) {
      status = CheckArgument(range, in_place, over, path);
      return status.ok();
    };
    if (!ForEachRange(argument, check)) break;
  }
  return status;
}

}  // namespace belay
