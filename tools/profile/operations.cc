#include "tools/profile/operations.h"

#include <cmath>
#include <cstddef>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/core/sizes.h"
#include "runtime/core/tensor_view.h"
#include "runtime/schema/operator_facts.h"

namespace belay::tools {
namespace {

// Returns nullptr if the kernel has no such argument.
const EValue* Argument(const InstructionInfo& instruction, std::string_view name) {
  std::string_view rest = instruction.signature;
  for (const EValue* argument : instruction.arguments) {
    const size_t end = rest.find(' ');
    if (rest.substr(0, end) == name) return argument;
    if (end == std::string_view::npos) break;
    rest.remove_prefix(end + 1);
  }
  return nullptr;
}

// Returns nullptr if the argument is not a tensor, or has no dimensions.
const TensorView* Tensor(const InstructionInfo& instruction, std::string_view name) {
  const EValue* value = Argument(instruction, name);
  const TensorView* tensor = value == nullptr ? nullptr : value->get_if<TensorView>();
  return tensor == nullptr || tensor->rank() == 0 ? nullptr : tensor;
}

double Numel(const TensorView& tensor) { return static_cast<double>(tensor.numel()); }

// Returns the ints of a list; 0 for other elements.
std::vector<double> Ints(const InstructionInfo& instruction, std::string_view name) {
  const EValue* argument = Argument(instruction, name);
  const ListView* list = argument == nullptr ? nullptr : argument->get_if<ListView>();
  std::vector<double> numbers;
  for (size_t i = 0; list != nullptr && i < list->elements.size(); ++i) {
    const int64_t* n = list->elements[i]->get_if<int64_t>();
    numbers.push_back(n == nullptr ? 0 : static_cast<double>(*n));
  }
  return numbers;
}

double Taps(const InstructionInfo& instruction) {
  const std::vector<double> sizes = Ints(instruction, "kernel_size");
  double taps = sizes.empty() ? 0 : 1;
  for (double size : sizes) taps *= size;
  return taps;
}

double Chain(const InstructionInfo& instruction, const TensorView& images) {
  const std::vector<double> out_channels = Ints(instruction, "out_channels"),
                            kernel = Ints(instruction, "kernel_size"),
                            stride = Ints(instruction, "stride"),
                            padding = Ints(instruction, "padding"),
                            dilation = Ints(instruction, "dilation");
  const size_t stages = out_channels.size();
  if (images.rank() != 4 || kernel.size() != 2 * stages || stride.size() != 2 * stages ||
      padding.size() != 4 * stages || dilation.size() != 2 * stages) {
    return 0;
  }
  double channels = static_cast<double>(images.sizes[1]), operations = 0;
  double size[] = {static_cast<double>(images.sizes[2]), static_cast<double>(images.sizes[3])};
  for (size_t k = 0; k < stages; ++k) {
    for (size_t d = 0; d < 2; ++d) {
      const double padded = size[d] + padding[4 * k + d] + padding[4 * k + 2 + d];
      const double reach = dilation[2 * k + d] * (kernel[2 * k + d] - 1) + 1;
      size[d] = std::floor((padded - reach) / stride[2 * k + d]) + 1;
    }
    const double terms = kernel[2 * k] * kernel[2 * k + 1] * (out_channels[k] == 0 ? 1 : channels);
    if (out_channels[k] != 0) channels = out_channels[k];
    operations += 2 * size[0] * size[1] * channels * terms;
  }
  return static_cast<double>(images.sizes[0]) * operations;
}

double Convolution(const InstructionInfo& instruction, const TensorView& image,
                   const TensorView& result) {
  const TensorView* weight = Tensor(instruction, "weight");
  const EValue* argument = Argument(instruction, "transposed");
  const bool* transposed = argument == nullptr ? nullptr : argument->get_if<bool>();
  if (weight == nullptr || transposed == nullptr || weight->sizes[0] == 0) return 0;
  return 2 * Numel(*transposed ? image : result) *
         (Numel(*weight) / static_cast<double>(weight->sizes[0]));
}

// Operators without `groups` have one group; those without `transposed` are not transposed.
double Window(const InstructionInfo& instruction, const TensorView& image,
              const TensorView& result) {
  const EValue not_transposed(false), one_group(int64_t{1});
  const EValue *groups = Argument(instruction, "groups"),
               *transposed = Argument(instruction, "transposed");
  if (groups == nullptr) groups = &one_group;
  if (transposed == nullptr) transposed = &not_transposed;
  const int64_t* count = groups->get_if<int64_t>();
  const bool* backwards = transposed->get_if<bool>();
  if (count == nullptr || *count < 1 || backwards == nullptr) return 0;
  const TensorView& walked = *backwards ? image : result;
  const TensorView& other = *backwards ? result : image;
  if (other.rank() < 2) return 0;
  return 2 * Numel(walked) * Taps(instruction) *
         (static_cast<double>(other.sizes[1]) / static_cast<double>(*count));
}

double Attention(const InstructionInfo& instruction) {
  const TensorView *query = Tensor(instruction, "query"), *key = Tensor(instruction, "key"),
                   *value = Tensor(instruction, "value");
  if (query == nullptr || key == nullptr || value == nullptr || key->rank() < 2) return 0;
  const double depth = static_cast<double>(query->sizes[query->rank() - 1]);
  if (depth == 0) return 0;
  return 2 * Numel(*query) / depth * static_cast<double>(key->sizes[key->rank() - 2]) *
         (depth + static_cast<double>(value->sizes[value->rank() - 1]));
}

// Calls `fn` with each tensor, including those in lists.
template <class Fn>
void ForEachTensor(const std::vector<const EValue*>& values, const Fn& fn) {
  for (const EValue* value : values) {
    if (const TensorView* tensor = value->get_if<TensorView>()) fn(*tensor);
    const ListView* list = value->get_if<ListView>();
    if (list == nullptr) continue;
    for (const EValue* element : list->elements) {
      if (const TensorView* tensor = element->get_if<TensorView>()) fn(*tensor);
    }
  }
}

}  // namespace

double OperationsOf(const InstructionInfo& instruction) {
  if (instruction.facts == nullptr) return 0;
  const FlopRule& rule = instruction.facts->flops;
  const TensorView* result =
      instruction.outputs.empty() ? nullptr : instruction.outputs[0]->get_if<TensorView>();
  if (rule.kind == FlopRule::Kind::kNone || result == nullptr) return 0;
  if (rule.kind == FlopRule::Kind::kAttention) return Attention(instruction);
  const TensorView* factor = Tensor(instruction, rule.factor);
  if (factor == nullptr) return 0;
  switch (rule.kind) {
    case FlopRule::Kind::kMatmul:
      return 2 * Numel(*result) * static_cast<double>(factor->sizes[factor->rank() - 1]);
    case FlopRule::Kind::kConvolution:
      return Convolution(instruction, *factor, *result);
    case FlopRule::Kind::kWindow:
      return Window(instruction, *factor, *result);
    case FlopRule::Kind::kDepthwise:
      return 2 * Numel(*result) * Taps(instruction);
    case FlopRule::Kind::kChain:
      return Chain(instruction, *factor);
    case FlopRule::Kind::kNone:
    case FlopRule::Kind::kAttention:
      break;
  }
  return 0;
}

OperandBytes BytesOf(const InstructionInfo& instruction) {
  OperandBytes bytes;
  ForEachTensor(instruction.arguments,
                [&](const TensorView& tensor) { bytes.read += tensor.nbytes(); });
  ForEachTensor(instruction.outputs,
                [&](const TensorView& tensor) { bytes.written += tensor.nbytes(); });
  return bytes;
}

std::string OperandText(const InstructionInfo& instruction) {
  std::string text;
  const auto add = [&](std::string_view before, const std::vector<const EValue*>& values) {
    ForEachTensor(values, [&](const TensorView& tensor) {
      absl::StrAppend(&text, text.empty() ? "" : before, DTypeShortName(tensor.dtype),
                      FormatSizes(tensor.sizes));
      before = ", ";
    });
  };
  add(", ", instruction.arguments);
  add(" -> ", instruction.outputs);
  return text;
}

}  // namespace belay::tools
