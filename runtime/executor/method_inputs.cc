#include "runtime/executor/method_inputs.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/core/annotate.h"
#include "runtime/core/checked_math.h"
#include "runtime/core/one_dtype_copy.h"
#include "runtime/core/same_value.h"
#include "runtime/core/status_macros.h"
#include "runtime/program/metadata_path.h"

namespace belay {
namespace {

std::string FormatValue(const EValue& value) {
  if (const auto* v = value.get_if<int64_t>()) return absl::StrCat("int ", *v);
  if (const auto* v = value.get_if<double>()) return absl::StrCat("float ", *v);
  if (const auto* v = value.get_if<bool>()) return *v ? "bool true" : "bool false";
  if (const auto* v = value.get_if<std::string_view>()) return absl::StrCat("string ", Quoted(*v));
  if (const auto* v = value.get_if<TensorView>()) return v->ToString();
  return value.KindName();
}

// "f32[1..8,3]"
std::string FormatTensorPlan(const TensorPlan& tensor, const InputPlan& input) {
  std::vector<std::string> sizes;
  for (const int64_t size : tensor.sizes) sizes.push_back(absl::StrCat(size));
  for (const SizeConstraint& c : input.constraints) {
    sizes[c.dim] = absl::StrCat(c.min, "..", c.max);
  }
  return absl::StrCat(DTypeShortName(tensor.dtype), "[", absl::StrJoin(sizes, ","), "]");
}

}  // namespace

absl::StatusOr<MethodInputs> MethodInputs::Create(SlotTable* slots, MemoryBudget& memory) {
  MethodInputs inputs(slots);
  const MethodPlan& plan = slots->plan();
  const size_t count = plan.inputs.size();
  inputs.set_.resize(count, 0);
  inputs.copy_of_.resize(count, nullptr);
  uint64_t bytes = 0;
  size_t tensors = 0;
  bool mutates = false, dynamic = false;
  std::vector<uint64_t> offsets(count, 0);
  for (uint32_t i = 0; i < count; ++i) {
    const InputPlan& input = plan.inputs[i];
    const TensorPlan* tensor = slots->tensor_plan(input.value);
    for (const SizeConstraint& constraint : input.constraints) {
      if (!constraint.symbol.empty()) inputs.terms_.push_back({i, &constraint});
    }
    if (tensor == nullptr) {
      // The value is a constant.
      if (!std::holds_alternative<ScalarKind>(plan.values[input.value])) inputs.set_[i] = 1;
      continue;
    }
    ++tensors;
    if (input.mutated) {
      mutates = true;
      continue;
    }
    const std::optional<uint64_t> end = CheckedAdd(bytes, tensor->max_bytes);
    const std::optional<uint64_t> aligned =
        end.has_value() ? CheckedAlignUp(*end, kArenaAlignment) : std::nullopt;
    offsets[i] = bytes;
    dynamic = dynamic || !tensor->is_static();
    bytes = aligned.value_or(UINT64_MAX);  // exceeds any budget
  }
  if (mutates) {
    inputs.spans_.reserve(tensors);
    for (uint32_t i = 0; i < count; ++i) {
      if (slots->tensor_plan(plan.inputs[i].value) != nullptr) inputs.spans_.push_back({0, 0, i});
    }
  }
  std::sort(inputs.terms_.begin(), inputs.terms_.end(), [](const Term& a, const Term& b) {
    return std::tie(a.constraint->symbol, a.input, a.constraint->dim) <
           std::tie(b.constraint->symbol, b.input, b.constraint->dim);
  });
  std::byte* data = nullptr;
  if (dynamic && bytes > MethodPlan::kLargestFixedArena && bytes != UINT64_MAX) {
    ABSL_ASSIGN_OR_RETURN(ReservedMemory reserved, ReservedMemory::Create(bytes, tensors, memory));
    inputs.reserved_.emplace(std::move(reserved));
    data = inputs.reserved_->data();
  } else {
    ABSL_RETURN_IF_ERROR(memory.Take(
        bytes, absl::StrCat("method ", Quoted(plan.name), ": memory for copies of inputs")));
    // Most inputs are used in place. Pages of a mapping cost nothing until they are used, whereas
    // a block of the C library may have to be zeroed.
    constexpr uint64_t kMapped = uint64_t{64} << 10;
    if (bytes >= kMapped) {
      ABSL_ASSIGN_OR_RETURN(inputs.copies_, AlignedBuffer::Reserve(bytes, memory.allocator()));
      ABSL_RETURN_IF_ERROR(inputs.copies_.Commit(0, bytes));
    } else {
      ABSL_ASSIGN_OR_RETURN(inputs.copies_, AlignedBuffer::Create(bytes, memory.allocator()));
    }
    data = inputs.copies_.data();
  }
  for (size_t i = 0; i < count; ++i) {
    const TensorPlan* tensor = slots->tensor_plan(plan.inputs[i].value);
    if (tensor != nullptr && !plan.inputs[i].mutated && tensor->max_bytes > 0) {
      inputs.copy_of_[i] = data + offsets[i];
    }
  }
  return inputs;
}

void MethodInputs::AddMemory(const MethodPlan& plan, MemoryBound& bound) {
  bound.Add(1, PageRanges::MemoryBytes(plan.inputs.size()));
  bound.Add(plan.inputs.size(), 2 * sizeof(uint64_t) + sizeof(std::byte*) + sizeof(Span));
  for (const InputPlan& input : plan.inputs) {
    bound.Add(input.constraints.size(), 3 * sizeof(Term));  // in a vector that grows by doubling
  }
}

std::string MethodInputs::Describe(size_t i) const {
  return absl::StrCat("input ", i, " ", Quoted(plan(i).name));
}

std::string MethodInputs::Expected(size_t i) const {
  const ValuePlan& value = slots_->plan().values[plan(i).value];
  if (const auto* tensor = std::get_if<TensorPlan>(&value)) {
    return FormatTensorPlan(*tensor, plan(i));
  }
  if (const auto* kind = std::get_if<ScalarKind>(&value)) {
    return std::string(ScalarKindName(*kind));
  }
  return FormatValue(slots_->slot(plan(i).value));
}

absl::Status MethodInputs::Mismatch(size_t i, const EValue& got, std::string_view detail) const {
  return absl::InvalidArgumentError(
      absl::StrCat(Describe(i), ": expected ", Expected(i), ", got ", FormatValue(got), detail));
}

absl::Status MethodInputs::Set(size_t i, const EValue& value) {
  if (i >= set_.size()) {
    return absl::OutOfRangeError(absl::StrCat("method ", Quoted(slots_->plan().name), " has ",
                                              set_.size(), " inputs, got input ", i));
  }
  const ValuePlan& planned = slots_->plan().values[plan(i).value];
  if (const auto* tensor = std::get_if<TensorPlan>(&planned)) return SetTensor(i, *tensor, value);
  if (const auto* kind = std::get_if<ScalarKind>(&planned)) return SetScalar(i, *kind, value);
  return CheckConstant(i, value);
}

absl::Status MethodInputs::CheckSizes(size_t i, const TensorPlan& tensor,
                                      const TensorView& view) const {
  if (static_cast<size_t>(view.rank()) != tensor.sizes.size()) {
    return Mismatch(i, view,
                    absl::StrCat(": rank ", view.rank(), " instead of ", tensor.sizes.size()));
  }
  for (int d = 0; d < view.rank(); ++d) {
    if (((tensor.dynamic_dims >> d) & 1) == 0 && view.sizes[d] != tensor.sizes[d]) {
      return Mismatch(
          i, view,
          absl::StrCat(": dimension ", d, " is ", view.sizes[d], " instead of ", tensor.sizes[d]));
    }
  }
  for (const SizeConstraint& c : plan(i).constraints) {
    const int64_t size = view.sizes[static_cast<int>(c.dim)];
    if (size >= c.min && size <= c.max) continue;
    return absl::OutOfRangeError(absl::StrCat(Describe(i), ": expected ", Expected(i), ", got ",
                                              view.ToString(), ": dimension ", c.dim, " is ", size,
                                              ", allowed are ", c.min, " to ", c.max));
  }
  return absl::OkStatus();
}

absl::Status MethodInputs::SetTensor(size_t i, const TensorPlan& tensor, const EValue& value) {
  const TensorView* view = value.get_if<TensorView>();
  if (view == nullptr) return Mismatch(i, value);
  // A loop sets the same tensors in each iteration.
  const TensorView& earlier = *slots_->slot(plan(i).value).get_if<TensorView>();
  if (set_[i] != 0 && view->data != nullptr && view->data == earlier.data &&
      view->dtype == earlier.dtype && view->sizes == earlier.sizes &&
      view->strides == earlier.strides) {
    return absl::OkStatus();
  }
  if (view->strides.size() != view->rank()) {
    return absl::InvalidArgumentError(absl::StrCat(Describe(i), ": ", view->rank(), " sizes and ",
                                                   view->strides.size(), " strides"));
  }
  if (view->dtype != tensor.dtype) return Mismatch(i, value);
  ABSL_RETURN_IF_ERROR(CheckSizes(i, tensor, *view));
  TensorView planned;
  planned.dtype = tensor.dtype;
  planned.sizes = view->sizes;
  planned.strides = DenseStrides(view->sizes, tensor.dim_order);
  const bool empty = view->numel() == 0;
  bool in_place = true;
  for (int d = 0; d < view->rank() && !empty; ++d) {
    if (view->strides[d] < 0) return Mismatch(i, value, ": a stride is negative");
    in_place = in_place && (view->sizes[d] == 1 || view->strides[d] == planned.strides[d]);
  }
  if (!empty && view->data == nullptr) return Mismatch(i, value, " without data");
  in_place = in_place && (empty || IsAlignedForElements(view->data, tensor.dtype));
  if (in_place) {
    planned.data = view->data;
  } else if (plan(i).mutated) {
    return Mismatch(i, value,
                    absl::StrCat(": the program writes to it, so that it must be aligned and have "
                                 "strides ",
                                 FormatSizes(planned.strides)));
  } else {
    planned.data = copy_of_[i];
    if (reserved_.has_value()) {
      const absl::Status status =
          reserved_->Touch(static_cast<uint64_t>(copy_of_[i] - reserved_->data()), view->nbytes());
      if (!status.ok()) return Annotate(status, absl::StrCat(Describe(i), ": a copy"));
    }
    // Can't fail for tensors of one dtype and shape.
    ABSL_RETURN_IF_ERROR(CopyElementsOfOneDType(*view, planned));
  }
  EValue& slot = slots_->slot(plan(i).value);
  moved_ = moved_ || slot.get_if<TensorView>()->data != planned.data;
  slot = planned;
  set_[i] = 1;
  return absl::OkStatus();
}

absl::Status MethodInputs::SetScalar(size_t i, ScalarKind kind, const EValue& value) {
  const bool fits = kind == ScalarKind::kInt      ? value.is<int64_t>()
                    : kind == ScalarKind::kDouble ? value.is<double>()
                                                  : value.is<bool>();
  if (!fits) return Mismatch(i, value);
  if (const auto* v = value.get_if<int64_t>()) {
    for (const SizeConstraint& c : plan(i).constraints) {
      if (*v >= c.min && *v <= c.max) continue;
      return absl::OutOfRangeError(
          absl::StrCat(Describe(i), ": is ", *v, ", allowed are ", c.min, " to ", c.max));
    }
  }
  slots_->slot(plan(i).value) = value;
  set_[i] = 1;
  return absl::OkStatus();
}

absl::Status MethodInputs::CheckConstant(size_t i, const EValue& value) const {
  const bool equal = std::visit(
      [&](const auto& planned) {
        using T = std::decay_t<decltype(planned)>;
        if constexpr (std::is_same_v<T, None>) {
          return value.is_none();
        } else if constexpr (std::is_same_v<T, double>) {
          const double* v = value.get_if<double>();
          return v != nullptr && SameValue(*v, planned);
        } else if constexpr (std::is_same_v<T, std::string>) {
          const std::string_view* v = value.get_if<std::string_view>();
          return v != nullptr && *v == planned;
        } else if constexpr (std::is_same_v<T, int64_t> || std::is_same_v<T, bool>) {
          const T* v = value.get_if<T>();
          return v != nullptr && *v == planned;
        } else {
          return false;  // the validator allows no other kinds of inputs
        }
      },
      slots_->plan().values[plan(i).value]);
  if (equal) return absl::OkStatus();
  return Mismatch(i, value, ": the program was specialized for that value");
}

void MethodInputs::AddTables(CallTables& tables) const {
  tables.Add(absl::MakeConstSpan(set_));
  tables.Add(absl::MakeConstSpan(terms_));
  tables.Add(absl::MakeConstSpan(slots_->plan().inputs));
}

bool MethodInputs::IsSet(size_t i) const {
  if (!set_[i]) return false;
  const TensorView* view = slots_->slot(plan(i).value).get_if<TensorView>();
  return view == nullptr || view->data != nullptr || view->numel() == 0;
}

absl::Status MethodInputs::CheckReady() {
  for (size_t i = 0; i < set_.size(); ++i) {
    if (IsSet(i)) continue;
    std::vector<std::string> missing;
    for (; i < set_.size(); ++i) {
      if (!IsSet(i)) missing.push_back(Describe(i));
    }
    return absl::FailedPreconditionError(
        absl::StrCat("not all inputs are set: ", ListFirst(missing, ", ")));
  }
  ABSL_RETURN_IF_ERROR(CheckSymbols());
  return CheckMutatedDisjoint();
}

absl::Status MethodInputs::CheckSymbols() const {
  const Term* first = nullptr;  // of the current symbol
  int64_t symbol = 0;
  for (const Term& term : terms_) {
    const SizeConstraint& c = *term.constraint;
    const EValue& slot = slots_->slot(plan(term.input).value);
    const TensorView* view = slot.get_if<TensorView>();
    // Only tensors and ints have constraints, by validation.
    const int64_t size =
        view != nullptr ? view->sizes[static_cast<int>(c.dim)] : *slot.get_if<int64_t>();
    const auto where = [&](const Term& t) {
      return absl::StrCat(Describe(t.input), slots_->tensor_plan(plan(t.input).value) == nullptr
                                                 ? ""
                                                 : absl::StrCat(" dimension ", t.constraint->dim));
    };
    const std::optional<int64_t> multiple = CheckedSub(size, c.offset);
    if (!multiple.has_value() || *multiple % c.multiplier != 0) {
      return absl::InvalidArgumentError(absl::StrCat(where(term), ": ", size, " is not ",
                                                     c.multiplier, " * ", Quoted(c.symbol), " + ",
                                                     c.offset));
    }
    const int64_t value = *multiple / c.multiplier;
    if (first == nullptr || first->constraint->symbol != c.symbol) {
      first = &term;
      symbol = value;
    } else if (value != symbol) {
      return absl::InvalidArgumentError(
          absl::StrCat(first->input == term.input ? "two sizes of an input are inconsistent: "
                                                  : "the sizes of two inputs are inconsistent: ",
                       where(*first), " makes ", Quoted(c.symbol), " ", symbol, ", ", where(term),
                       " makes it ", value));
    }
  }
  return absl::OkStatus();
}

absl::Status MethodInputs::CheckMutatedDisjoint() {
  if (spans_.empty()) return absl::OkStatus();
  for (Span& span : spans_) {
    // Set() made inputs dense in the planned order. Slots keep their kind: tensors.
    const TensorView& view = *slots_->slot(plan(span.input).value).get_if<TensorView>();
    span.begin = reinterpret_cast<uintptr_t>(view.data);
    span.end = CheckedAdd<uintptr_t>(span.begin, view.nbytes()).value_or(UINTPTR_MAX);
  }
  std::sort(spans_.begin(), spans_.end(), [](const Span& a, const Span& b) {
    return std::tie(a.begin, a.input) < std::tie(b.begin, b.input);
  });
  // The spans with the largest end among earlier ones: of all inputs, and of mutated inputs.
  const Span* last = nullptr;
  const Span* last_written = nullptr;
  for (const Span& span : spans_) {
    if (span.begin == span.end) continue;
    const bool written = plan(span.input).mutated;
    const Span* before = written ? last : last_written;
    if (before != nullptr && before->end > span.begin) {
      const auto [m, other] =
          written ? std::pair(span.input, before->input) : std::pair(before->input, span.input);
      return absl::InvalidArgumentError(
          absl::StrCat(Describe(m), " is written to and shares memory with ", Describe(other)));
    }
    if (last == nullptr || span.end > last->end) last = &span;
    if (written) last_written = &span;  // begins after the end of all earlier ones
  }
  return absl::OkStatus();
}

}  // namespace belay
