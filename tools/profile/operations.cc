#include "tools/profile/operations.h"

#include <cmath>
#include <cstddef>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/core/sizes.h"
#include "runtime/core/tensor_view.h"

namespace belay::tools {
namespace {

enum class Rule : uint8_t {
  kMatmul,       // reduces over the last dimension of `factor`
  kConvolution,  // of `factor`, [n, c, …], with `weight`
  kWindow,       // of `factor`, [n, c, …], with windows of `kernel_size` whose weights are packed
  kDepthwise,    // the same, each channel by itself
  kAttention,    // of `query`, `key` and `value`
  kGrouped,      // of `factor`, [n, c, …], with out_channels, groups, transposed and kernel_size
  kChain,        // of `factor`, [n, c, …]: stage by stage (backends/cpu/chain_calls.h)
};
struct Row {
  std::string_view op;  // without overload
  Rule rule;
  std::string_view factor = "";
};
constexpr Row kRows[] = {
    {"aten._scaled_dot_product_flash_attention", Rule::kAttention},
    {"aten.addmm", Rule::kMatmul, "mat1"},
    {"aten.baddbmm", Rule::kMatmul, "batch1"},
    {"aten.bmm", Rule::kMatmul, "self"},
    {"aten.convolution", Rule::kConvolution, "input"},
    {"aten.linear", Rule::kMatmul, "input"},
    {"aten.mm", Rule::kMatmul, "self"},
    {"aten.scaled_dot_product_attention", Rule::kAttention},
    {"belay_cpu.attention", Rule::kAttention},
    {"belay_cpu.bfloat16_conv2d", Rule::kWindow, "input"},
    {"belay_cpu.bfloat16_linear", Rule::kMatmul, "input"},
    {"belay_cpu.conv2d", Rule::kWindow, "input"},
    {"belay_cpu.conv2d_chain", Rule::kChain, "input"},
    {"belay_cpu.convolution", Rule::kGrouped, "input"},
    {"belay_cpu.depthwise_conv2d", Rule::kDepthwise, "input"},
    {"belay_cpu.dynamic_quantized_linear", Rule::kMatmul, "input"},
    {"belay_cpu.linear", Rule::kMatmul, "input"},
    {"belay_cpu.quantized_conv2d", Rule::kWindow, "input"},
    {"belay_cpu.quantized_depthwise_conv2d", Rule::kDepthwise, "input"},
    {"belay_cpu.quantized_linear", Rule::kMatmul, "input"},
    {"belay_cpu.weight_only_linear", Rule::kMatmul, "input"},
    {"belay_cpu.winograd_conv2d", Rule::kWindow, "input"},
    {"quantized_decomposed.mixed_linear", Rule::kMatmul, "input"},
    {"quantized_decomposed.mixed_mm", Rule::kMatmul, "input"},
};

const Row* FindRow(std::string_view op) {
  const std::string_view name = op.substr(0, op.rfind('.'));
  for (const Row& row : kRows) {
    if (row.op == name) return &row;
  }
  return nullptr;
}

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

double Grouped(const InstructionInfo& instruction, const TensorView& image,
               const TensorView& result) {
  const EValue *groups = Argument(instruction, "groups"),
               *transposed = Argument(instruction, "transposed");
  const int64_t* count = groups == nullptr ? nullptr : groups->get_if<int64_t>();
  const bool* backwards = transposed == nullptr ? nullptr : transposed->get_if<bool>();
  if (count == nullptr || *count < 1 || backwards == nullptr || image.rank() < 2 ||
      result.rank() < 2) {
    return 0;
  }
  const TensorView& walked = *backwards ? image : result;
  const TensorView& other = *backwards ? result : image;
  return 2 * Numel(walked) * Taps(instruction) * static_cast<double>(other.sizes[1] / *count);
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
  const Row* row = FindRow(instruction.op);
  const TensorView* result =
      instruction.outputs.empty() ? nullptr : instruction.outputs[0]->get_if<TensorView>();
  if (row == nullptr || result == nullptr) return 0;
  if (row->rule == Rule::kAttention) return Attention(instruction);
  const TensorView* factor = Tensor(instruction, row->factor);
  if (factor == nullptr) return 0;
  switch (row->rule) {
    case Rule::kMatmul:
      return 2 * Numel(*result) * static_cast<double>(factor->sizes[factor->rank() - 1]);
    case Rule::kConvolution:
      return Convolution(instruction, *factor, *result);
    case Rule::kWindow:
      return factor->rank() < 2
                 ? 0
                 : 2 * Numel(*result) * Taps(instruction) * static_cast<double>(factor->sizes[1]);
    case Rule::kDepthwise:
      return 2 * Numel(*result) * Taps(instruction);
    case Rule::kGrouped:
      return Grouped(instruction, *factor, *result);
    case Rule::kChain:
      return Chain(instruction, *factor);
    case Rule::kAttention:
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
