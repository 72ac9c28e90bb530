#include "runtime/kernel_interface/kernel.h"

#include <algorithm>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/core/annotate.h"
#include "runtime/core/status_macros.h"

namespace belay {
namespace {

absl::Status WrongKind(std::string_view what, int i, std::string_view expected,
                       const EValue& value) {
  return absl::InvalidArgumentError(
      absl::StrCat(what, " ", i, ": expected ", expected, ", got ", value.KindName()));
}

template <class T>
absl::StatusOr<T> ArgumentAs(const EValue& value, int i, std::string_view expected) {
  if (const T* v = value.get_if<T>()) return *v;
  return WrongKind("argument", i, expected, value);
}

absl::Status CheckWrittenDisjoint(const KernelContext& context, const TensorView& written, int i) {
  const auto meets = [&](const EValue* value) {
    const TensorView* other = value == nullptr ? nullptr : value->get_if<TensorView>();
    return other != nullptr && MayOverlap(written, *other);
  };
  for (int k = 0; k < context.num_arguments(); ++k) {
    if (k == i) continue;
    const ListView* list = context.argument(k).get_if<ListView>();
    if (list == nullptr ? meets(&context.argument(k))
                        : std::any_of(list->elements.begin(), list->elements.end(), meets)) {
      return absl::InvalidArgumentError(
          absl::StrCat("argument ", i, " is written and its memory overlaps that of argument ", k));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<TensorView*> ResizeOutput(OutputAllocator* allocator, int i, EValue& slot,
                                         absl::Span<const int64_t> sizes) {
  TensorView* tensor = slot.get_if<TensorView>();
  if (tensor == nullptr) return WrongKind("output", i, "tensor", slot);
  if (allocator == nullptr) {
    return absl::FailedPreconditionError(absl::StrCat("output ", i, " has no allocator"));
  }
  const absl::Status status = allocator->Resize(*tensor, sizes);
  if (!status.ok()) return Annotate(status, absl::StrCat("output ", i));
  return tensor;
}

}  // namespace

void KernelContext::RunParts(int parts, absl::FunctionRef<void(int)> body) const {
  if (threads_ != nullptr) return threads_->Run(parts, body);
  for (int part = 0; part < parts; ++part) body(part);
}

absl::Status KernelContext::CheckArity(int arguments, int outputs) const {
  if (num_arguments() == arguments && num_outputs() == outputs) [[likely]]
    return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("expected ", arguments, " arguments and ", outputs,
                                                 " outputs, got ", num_arguments(), " and ",
                                                 num_outputs()));
}

absl::StatusOr<const TensorView*> KernelContext::Tensor(int i) const {
  if (const TensorView* v = argument(i).get_if<TensorView>()) return v;
  return WrongKind("argument", i, "tensor", argument(i));
}

absl::StatusOr<TensorView*> KernelContext::MutableTensor(MutableArgument argument) const {
  const int i = argument.position;
  if (TensorView* v = arguments_[i]->get_if<TensorView>()) {
    ABSL_RETURN_IF_ERROR(CheckWrittenDisjoint(*this, *v, i));
    if (allocator_ == nullptr) return v;
    const absl::Status status = allocator_->CheckMutable(*arguments_[i]);
    if (status.ok()) return v;
    return Annotate(status, absl::StrCat("argument ", i));
  }
  return WrongKind("argument", i, "tensor", *arguments_[i]);
}

absl::StatusOr<int64_t> KernelContext::Int(int i) const {
  const EValue& value = argument(i);
  if (const int64_t* v = value.get_if<int64_t>()) return *v;
  if (const bool* v = value.get_if<bool>()) return int64_t{*v};
  return WrongKind("argument", i, "int", value);
}

absl::StatusOr<double> KernelContext::Double(int i) const {
  const EValue& value = argument(i);
  if (const double* v = value.get_if<double>()) return *v;
  if (const int64_t* v = value.get_if<int64_t>()) return static_cast<double>(*v);
  if (const bool* v = value.get_if<bool>()) return *v ? 1.0 : 0.0;
  const std::complex<double>* v = value.get_if<std::complex<double>>();
  if (v != nullptr && v->imag() == 0) return v->real();
  return WrongKind("argument", i, "float", value);
}

absl::StatusOr<bool> KernelContext::Bool(int i) const {
  return ArgumentAs<bool>(argument(i), i, "bool");
}

absl::StatusOr<EValue> KernelContext::Scalar(int i) const {
  if (!argument(i).is_number()) return WrongKind("argument", i, "number", argument(i));
  return argument(i);
}

absl::StatusOr<std::string_view> KernelContext::String(int i) const {
  return ArgumentAs<std::string_view>(argument(i), i, "string");
}

absl::StatusOr<DType> KernelContext::Dtype(int i) const {
  return ArgumentAs<DType>(argument(i), i, "dtype");
}

absl::StatusOr<Sizes> KernelContext::IntList(int i) const {
  const EValue& value = argument(i);
  if (const int64_t* v = value.get_if<int64_t>()) return Sizes({*v});
  const ListView* list = value.get_if<ListView>();
  if (list == nullptr) return WrongKind("argument", i, "list of ints", value);
  if (list->elements.size() > kMaxRank) {
    return absl::InvalidArgumentError(absl::StrCat("argument ", i, ": a list of ",
                                                   list->elements.size(),
                                                   " ints is above the limit of ", kMaxRank));
  }
  Sizes ints;
  for (const EValue* element : list->elements) {
    const int64_t* v = element == nullptr ? nullptr : element->get_if<int64_t>();
    if (v == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("argument ", i, ": expected list of ints, got element ", ints.size(), " ",
                       element == nullptr ? "missing" : element->KindName()));
    }
    ints.push_back(*v);
  }
  return ints;
}

absl::StatusOr<ListView> KernelContext::List(int i) const {
  return ArgumentAs<ListView>(argument(i), i, "list");
}

absl::StatusOr<TensorView*> KernelContext::Output(int i, absl::Span<const int64_t> sizes) {
  return ResizeOutput(allocator_, i, *outputs_[i], sizes);
}

absl::StatusOr<TensorView*> KernelContext::OutputListElement(int i, int k,
                                                             absl::Span<const int64_t> sizes) {
  const ListView* list = outputs_[i]->get_if<ListView>();
  if (list == nullptr) return WrongKind("output", i, "list of tensors", *outputs_[i]);
  if (k < 0 || static_cast<size_t>(k) >= list->elements.size() || list->elements[k] == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("output ", i, ": no element ", k, " in a list of ", list->elements.size()));
  }
  return ResizeOutput(allocator_, i, *list->elements[k], sizes);
}

absl::StatusOr<int> KernelContext::OutputListSize(int i) const {
  const ListView* list = outputs_[i]->get_if<ListView>();
  if (list == nullptr) return WrongKind("output", i, "list of tensors", *outputs_[i]);
  return static_cast<int>(list->elements.size());
}

absl::StatusOr<const TensorView*> KernelContext::PlannedOutput(int i) const {
  // May be called before CheckArity, when a kernel is selected.
  if (i < 0 || i >= num_outputs()) {
    return absl::InvalidArgumentError(
        absl::StrCat("output ", i, " does not exist, there are ", num_outputs()));
  }
  if (const TensorView* v = outputs_[i]->get_if<TensorView>()) return v;
  return WrongKind("output", i, "tensor", *outputs_[i]);
}

namespace {

// Memory for a temporary parsed call.
struct CallMemory {
  alignas(kCallAlignment) std::byte bytes[kMaxCallBytes];
};

}  // namespace

bool Kernel::Accepts(const KernelContext& context) const {
  if (accepts_call == nullptr) return true;
  CallMemory call;
  return read_call(context, signature, call.bytes).ok() && accepts_call(context, call.bytes);
}

uint64_t Kernel::ScratchBytes(const KernelContext& context) const {
  if (scratch_bytes_of_call == nullptr) return 0;
  CallMemory call;
  return read_call(context, signature, call.bytes).ok() ? scratch_bytes_of_call(context, call.bytes)
                                                        : 0;
}

absl::Status Kernel::Run(KernelContext& context) const {
  CallMemory call;
  ABSL_RETURN_IF_ERROR(read_call(context, signature, call.bytes));
  return run_call(context, call.bytes);
}

std::string_view KernelEngineName(KernelEngine engine) {
  switch (engine) {
    case KernelEngine::kReference:
      return "reference";
    case KernelEngine::kHighway:
      return "highway";
  }
  return "invalid";
}

}  // namespace belay
