#include "backends/xnnpack/aot/operation_reader.h"

#include <algorithm>
#include <optional>
#include <variant>

#include "backends/xnnpack/aot/weight.h"
#include "exir/ir/float_elements.h"
#include "exir/ir/text.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"

namespace belay::xnnpack {

using exir::Argument;
using exir::ValueId;

absl::Status Unsupported(std::string reason) { return absl::UnimplementedError(std::move(reason)); }

absl::StatusOr<double> OperationReader::NumberOf(const Argument& argument, std::string_view name) {
  if (const int64_t* number = argument.get_if<int64_t>()) return static_cast<double>(*number);
  if (const double* number = argument.get_if<double>()) return *number;
  if (const bool* flag = argument.get_if<bool>()) return *flag ? 1 : 0;
  return Unsupported(absl::StrCat(name, " is not a known scalar"));
}

absl::StatusOr<std::vector<int64_t>> OperationReader::Ints(std::string_view name) const {
  const Argument& argument = node.argument(name);
  if (const int64_t* number = argument.get_if<int64_t>()) return std::vector<int64_t>{*number};
  std::vector<int64_t> numbers;
  if (argument.is_none()) return numbers;
  const auto unknown = [&] { return Unsupported(absl::StrCat(name, " has unknown sizes")); };
  const Argument::List* list = argument.get_if<Argument::List>();
  if (list == nullptr) return unknown();
  for (const Argument& element : *list) {
    const int64_t* number = element.get_if<int64_t>();
    if (number == nullptr) return unknown();
    numbers.push_back(*number);
  }
  return numbers;
}

absl::StatusOr<std::pair<int64_t, int64_t>> OperationReader::Pair(
    std::string_view name, int64_t least, std::pair<int64_t, int64_t> if_empty) const {
  ABSL_ASSIGN_OR_RETURN(const std::vector<int64_t> numbers, Ints(name));
  if (numbers.empty()) return if_empty;
  if (numbers.size() > 2)
    return Unsupported(absl::StrCat(name, " has ", numbers.size(), " numbers"));
  for (int64_t number : numbers) {
    if (number < least || number > kMaxWindowNumber) {
      return Unsupported(absl::StrCat(name, " is ", number));
    }
  }
  return std::pair(numbers.front(), numbers.back());
}

absl::StatusOr<int> OperationReader::Dim(int64_t dim, int rank) const {
  const int64_t positive = dim < 0 ? dim + rank : dim;
  if (positive < 0 || positive >= rank) return Unsupported(absl::StrCat("dimension ", dim));
  return static_cast<int>(positive);
}

absl::StatusOr<ValueId> OperationReader::Tensor(const Argument& argument) const {
  const ValueId* value = argument.get_if<ValueId>();
  if (value == nullptr) return Unsupported("an operand is not a tensor");
  ABSL_RETURN_IF_ERROR(CheckTensor(*value));
  return *value;
}

absl::Status OperationReader::CheckTensor(ValueId value, DType dtype) const {
  const exir::TensorMeta* meta = graph.value(value).tensor();
  const auto describe = [&] {
    return absl::StrCat("%", graph.value(value).name, " is ",
                        exir::PrintType(graph.value(value).type));
  };
  if (meta == nullptr || meta->dtype != dtype) {
    return Unsupported(absl::StrCat(describe(), ", expected a tensor of ", DTypeName(dtype)));
  }
  if (meta->rank() > kMaxDims) return Unsupported(absl::StrCat(describe(), ", at most rank 6"));
  if (!meta->is_contiguous() && !IsChannelsLast(*meta)) {
    return Unsupported(absl::StrCat(describe(), ", it is neither contiguous nor channels last"));
  }
  for (const exir::SymInt& size : meta->sizes) {
    const std::optional<int64_t> largest = LargestSize(program, size);
    if (!largest.has_value()) {
      return Unsupported(absl::StrCat(describe(), ", a size has no upper bound"));
    }
    if (*largest < 1 || *largest > kMaxSize) {
      return Unsupported(absl::StrCat(describe(), ", sizes must be from 1 to 2^24"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<ValueId> OperationReader::Constant(std::string_view name, int rank) const {
  const ValueId* value = node.value_argument(name);
  const std::optional<Weight> constant =
      value == nullptr ? std::nullopt : WeightOf(program, *value);
  if (!constant.has_value() ||
      (constant->tensor.dtype() != DType::kFloat32 && !constant->is_quantized())) {
    return Unsupported(absl::StrCat(name, " is not a float32 constant"));
  }
  const Sizes& sizes = constant->tensor.sizes();
  if (sizes.size() != rank || std::any_of(sizes.begin(), sizes.end(), [](int64_t size) {
        return size < 1 || size > kMaxSize;
      })) {
    return Unsupported(absl::StrCat(name, " is ", FormatSizes(sizes), ", expected rank ", rank));
  }
  return *value;
}

absl::StatusOr<std::vector<float>> OperationReader::Channels(std::string_view name,
                                                             int64_t channels) const {
  ABSL_ASSIGN_OR_RETURN(const ValueId value, Constant(name, 1));
  const Weight constant = *WeightOf(program, value);
  if (constant.tensor.sizes()[0] != channels || constant.is_quantized()) {
    return Unsupported(absl::StrCat(name, " has other channels, or is quantized"));
  }
  return exir::FloatElements(constant.tensor);
}

absl::StatusOr<exir::ConstantTensor> OperationReader::FloatConstant(const Argument& argument,
                                                                    std::string_view name) const {
  const ValueId* value = argument.get_if<ValueId>();
  std::optional<Weight> constant = value == nullptr ? std::nullopt : WeightOf(program, *value);
  if (!constant.has_value() || constant->is_quantized() ||
      constant->tensor.dtype() != DType::kFloat32) {
    return Unsupported(absl::StrCat(name, " is not a float32 constant"));
  }
  return std::move(constant->tensor);
}

absl::Status OperationReader::One(std::string_view name, Operation& operation) const {
  ABSL_ASSIGN_OR_RETURN(const ValueId value, Tensor(name));
  operation.operands.push_back(value);
  return absl::OkStatus();
}

absl::Status OperationReader::OneImage(std::string_view name, Operation& operation) const {
  ABSL_RETURN_IF_ERROR(One(name, operation));
  operation.images = Images::kNhwc;
  const int rank = SizesOf(program, std::get<ValueId>(operation.operands[0])).size();
  if (rank != 4) return Unsupported(absl::StrCat("the input has rank ", rank));
  return CheckStatic(std::get<ValueId>(operation.operands[0]), 1);
}

absl::Status OperationReader::CheckStatic(ValueId value, int dim) const {
  const exir::SymInt& size = graph.value(value).tensor()->sizes[static_cast<size_t>(dim)];
  if (size.AsInt().has_value()) return absl::OkStatus();
  return Unsupported(absl::StrCat("the size of dimension ", dim, " of %", graph.value(value).name,
                                  " is not static"));
}

absl::Status OperationReader::CheckOneResult(std::string_view others) const {
  for (size_t i = 1; i < node.outputs.size(); ++i) {
    for (const ValueId value : node.outputs[i].values) {
      if (graph.value(value).users.empty() && !graph.IsOutput(value)) continue;
      return Unsupported(absl::StrCat("its ", others, " are used"));
    }
  }
  return absl::OkStatus();
}

}  // namespace belay::xnnpack
