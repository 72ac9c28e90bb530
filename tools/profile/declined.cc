#include "tools/profile/declined.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "runtime/core/dtype.h"
#include "runtime/core/sizes.h"
#include "runtime/core/tensor_view.h"

namespace belay::tools {
namespace {

// Dtypes that kernels support.
constexpr DType kAsked[] = {DType::kFloat32, DType::kFloat16, DType::kBFloat16, DType::kFloat64,
                            DType::kInt8,    DType::kUint8,   DType::kInt16,    DType::kInt32,
                            DType::kInt64,   DType::kBool};

// A modifiable copy of an instruction's operands as they were at kernel selection, without data.
class Call {
 public:
  Call(const Kernel& kernel, const MethodPlan& plan, const KernelCallPlan& call,
       const InstructionInfo& instruction)
      : kernel_(kernel), plan_(plan) {
    const auto copy = [&](absl::Span<const uint32_t> values, const std::vector<const EValue*>& now,
                          std::vector<EValue*>& to) {
      for (size_t k = 0; k < std::min(values.size(), now.size()); ++k) {
        to.push_back(Copy(values[k], *now[k]));
      }
    };
    copy(plan.arguments_of(call.operands), instruction.arguments, arguments_);
    copy(plan.outputs_of(call.operands), instruction.outputs, outputs_);
    for (const TensorView* tensor : tensors_) originals_.push_back(*tensor);
  }

  KernelContext context() const { return KernelContext(arguments_, outputs_, nullptr, {}); }
  bool IsTaken() const { return kernel_.Accepts(context()); }
  const std::vector<EValue*>& arguments() const { return arguments_; }
  // Of the arguments and of the outputs.
  const std::vector<TensorView*>& tensors() const { return tensors_; }
  void Reset() {
    for (size_t k = 0; k < tensors_.size(); ++k) *tensors_[k] = originals_[k];
  }
  void MakeChannelsLast() {
    for (TensorView* tensor : tensors_) {
      tensor->strides = DenseStrides(tensor->sizes, ChannelsLastOrder(tensor->rank()));
    }
  }
  void MakeContiguous() {
    for (TensorView* tensor : tensors_) tensor->strides = ContiguousStrides(tensor->sizes);
  }
  void ChangeDType(DType from, DType to) {
    for (TensorView* tensor : tensors_) {
      if (tensor->dtype == from) tensor->dtype = to;
    }
  }

 private:
  // The plan determines the kind of each slot: tensors are planned, and lists have their planned
  // length.
  EValue* Copy(uint32_t value, const EValue& now) {
    EValue& copy = values_.emplace_back(now);
    if (TensorView* tensor = copy.get_if<TensorView>()) {
      const auto& planned = std::get<TensorPlan>(plan_.values[value]);
      tensor->data = nullptr;
      tensor->sizes = Sizes(planned.sizes);
      tensor->strides = DenseStrides(planned.sizes, planned.dim_order);
      tensors_.push_back(tensor);
    } else if (const ListView* list = copy.get_if<ListView>()) {
      const auto& planned = std::get<ListPlan>(plan_.values[value]);
      std::vector<EValue*>& elements = lists_.emplace_back();
      for (size_t k = 0; k < list->elements.size(); ++k) {
        elements.push_back(Copy(planned.elements[k], *list->elements[k]));
      }
      copy = ListView{elements};
    }
    return &copy;
  }

  const Kernel& kernel_;
  const MethodPlan& plan_;
  std::deque<EValue> values_;  // a deque, for stable addresses
  std::deque<std::vector<EValue*>> lists_;
  std::vector<EValue*> arguments_, outputs_;
  std::vector<TensorView*> tensors_;
  std::vector<TensorView> originals_;
};

// "a", "a or b", "a, b or c".
std::string Either(const std::vector<std::string>& names) {
  if (names.size() == 1) return names[0];
  return absl::StrCat(absl::StrJoin(names.begin(), names.end() - 1, ", "), " or ", names.back());
}

// Lists the dtypes of the first tensor that the kernel accepts; "" if none, or without tensors.
std::string SupportedDTypes(Call& call, bool contiguous) {
  if (call.tensors().empty()) return "";
  const DType now = call.tensors()[0]->dtype;
  std::vector<std::string> taken;
  for (const DType dtype : kAsked) {
    call.Reset();
    if (contiguous) call.MakeContiguous();
    call.ChangeDType(now, dtype);
    if (dtype != now && call.IsTaken()) taken.emplace_back(DTypeShortName(dtype));
  }
  call.Reset();
  return taken.empty() ? "" : absl::StrCat(Either(taken), ", not ", DTypeShortName(now));
}

std::string NumberText(const EValue& value) {
  if (const bool* flag = value.get_if<bool>()) return *flag ? "true" : "false";
  if (const int64_t* number = value.get_if<int64_t>()) return absl::StrCat(*number);
  return absl::StrCat(*value.get_if<double>());
}

// Lists the numbers that the kernel accepts for the argument.
std::string SupportedNumbers(const Call& call, EValue& argument) {
  std::vector<EValue> others;
  if (argument.is<bool>()) others = {EValue(false), EValue(true)};
  if (argument.is<int64_t>()) {
    for (const int64_t number : {-1, 0, 1, 2}) others.emplace_back(number);
  }
  if (argument.is<double>()) {
    for (const double number : {0.0, 1.0, 2.0}) others.emplace_back(number);
  }
  const EValue now = argument;
  std::vector<std::string> taken;
  for (const EValue& other : others) {
    argument = other;
    if (call.IsTaken()) taken.push_back(NumberText(other));
  }
  argument = now;
  return taken.empty() ? "" : absl::StrCat(Either(taken), ", not ", NumberText(now));
}

// Returns "takes 'self' only contiguous" if that change is sufficient; "" if layouts do not decide.
std::string SupportedLayout(Call& call, const std::vector<std::string>& names) {
  for (size_t k = 0; k < std::min(names.size(), call.arguments().size()); ++k) {
    TensorView* const tensor = call.arguments()[k]->get_if<TensorView>();
    if (tensor == nullptr) continue;
    tensor->strides = ContiguousStrides(tensor->sizes);
    const bool taken = call.IsTaken();
    call.Reset();
    if (taken) return absl::StrCat("takes '", names[k], "' only contiguous");
  }
  call.MakeContiguous();
  const bool contiguous = call.IsTaken();
  call.MakeChannelsLast();
  const bool channels_last = call.IsTaken();
  call.Reset();
  return contiguous      ? "takes only contiguous tensors"
         : channels_last ? "takes only channels-last tensors"
                         : "";
}

}  // namespace

std::string WhyDeclined(const Kernel& kernel, const MethodPlan& plan, const KernelCallPlan& call,
                        const InstructionInfo& instruction) {
  Call changed(kernel, plan, call, instruction);
  alignas(kCallAlignment) std::byte memory[kMaxCallBytes];
  const absl::Status read = kernel.read_call(changed.context(), kernel.signature, memory);
  if (!read.ok()) return std::string(read.message());
  const std::vector<std::string> names =
      absl::StrSplit(std::string(kernel.signature), ' ', absl::SkipEmpty());
  if (std::string layout = SupportedLayout(changed, names); !layout.empty()) return layout;
  if (const std::string dtypes = SupportedDTypes(changed, /*contiguous=*/false); !dtypes.empty()) {
    return absl::StrCat("takes ", dtypes);
  }
  for (size_t k = 0; k < std::min(names.size(), changed.arguments().size()); ++k) {
    const std::string numbers = SupportedNumbers(changed, *changed.arguments()[k]);
    if (!numbers.empty()) return absl::StrCat("takes '", names[k], "' = ", numbers);
  }
  if (const std::string dtypes = SupportedDTypes(changed, /*contiguous=*/true); !dtypes.empty()) {
    return absl::StrCat("takes only contiguous tensors, and ", dtypes);
  }
  return "does not take these arguments";
}

}  // namespace belay::tools
