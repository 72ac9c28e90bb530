#include "backends/xnnpack/aot/operation_rules.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "backends/xnnpack/aot/composite_form.h"
#include "backends/xnnpack/aot/dynamic_form.h"
#include "backends/xnnpack/aot/int8_form.h"
#include "backends/xnnpack/aot/weight.h"
#include "backends/xnnpack/node_sizes.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"

namespace belay::xnnpack {
namespace {

using exir::Argument;
using exir::ValueId;

absl::Status ReadUnary(const OperationReader& r, Operation& operation) {
  const std::string_view name = r.node.target->schema()->arguments[0].name;
  return r.One(name, operation);
}

absl::Status ReadBinary(const OperationReader& r, Operation& operation) {
  ABSL_RETURN_IF_ERROR(r.One("self", operation));
  const Argument& other = r.node.argument("other");
  if (other.is<ValueId>()) {
    ABSL_ASSIGN_OR_RETURN(const ValueId value, r.Tensor(other));
    const Sizes self = SizesOf(r.program, std::get<ValueId>(operation.operands[0]));
    operation.operands.push_back(value);
    // Sizes that are equal in each call may still have different upper bounds.
    const absl::Status fit = BroadcastSizes(self, SizesOf(r.program, value)).status();
    if (!fit.ok()) return Unsupported(absl::StrCat("at their largest, ", fit.message()));
  } else {
    ABSL_ASSIGN_OR_RETURN(const double number, OperationReader::NumberOf(other, "other"));
    operation.operands.push_back(static_cast<float>(number));
  }
  const Argument& alpha = r.node.argument("alpha");
  if (alpha.is_none() || alpha == Argument(1) || alpha == Argument(1.0)) return absl::OkStatus();
  return Unsupported("alpha is not 1");
}

absl::Status ReadRelu(const OperationReader& r, Operation& operation) {
  operation.min = 0;
  return r.One("self", operation);
}

absl::Status ReadClamp(const OperationReader& r, Operation& operation) {
  ABSL_RETURN_IF_ERROR(r.One("self", operation));
  for (const auto& [names, bound] : {std::pair(std::pair("min", "min_val"), &operation.min),
                                     std::pair(std::pair("max", "max_val"), &operation.max)}) {
    const Argument& given = r.node.argument(names.first);
    const Argument& argument = given.is_none() ? r.node.argument(names.second) : given;
    if (argument.is_none()) continue;
    ABSL_ASSIGN_OR_RETURN(const double number, OperationReader::NumberOf(argument, names.first));
    *bound = static_cast<float>(number);
  }
  // The library requires min < max.
  return operation.min < operation.max ? absl::OkStatus()
                                       : Unsupported("the bounds are not a range");
}

absl::Status ReadSlope(const OperationReader& r, Operation& operation) {
  ABSL_ASSIGN_OR_RETURN(const double slope, r.Number("negative_slope"));
  operation.number = static_cast<float>(slope);
  return r.One("self", operation);
}

absl::Status ReadPrelu(const OperationReader& r, Operation& operation) {
  return ReadSlopes(r, r.node.argument("self"), r.node.argument("weight"),
                    /*broadcasts=*/r.node.target->name() != "aten.prelu.default", operation);
}

absl::Status ReadElu(const OperationReader& r, Operation& operation) {
  for (const char* name : {"scale", "input_scale"}) {
    ABSL_ASSIGN_OR_RETURN(const double number, r.Number(name));
    if (number != 1) return Unsupported(absl::StrCat(name, " is not 1"));
  }
  ABSL_ASSIGN_OR_RETURN(const double alpha, r.Number("alpha"));
  operation.number = static_cast<float>(alpha);
  if (!(operation.number > 0)) return Unsupported("alpha is not positive");
  return r.One("self", operation);
}

absl::Status ReadPow(const OperationReader& r, Operation& operation) {
  ABSL_ASSIGN_OR_RETURN(const double exponent, r.Number("exponent"));
  if (exponent != 2) return Unsupported("the exponent is not 2");
  return r.One("self", operation);
}

absl::Status ReadGelu(const OperationReader& r, Operation& operation) {
  if (r.node.argument("approximate") != Argument("none")) {
    return Unsupported("it is approximated by tanh");
  }
  return r.One("self", operation);
}

absl::Status ReadSoftmax(const OperationReader& r, Operation& operation) {
  operation.images = Images::kRows;
  ABSL_RETURN_IF_ERROR(r.One("self", operation));
  const int rank = SizesOf(r.program, r.result()).size();
  ABSL_ASSIGN_OR_RETURN(const int64_t dim, r.Int("dim"));
  if (rank == 0 || (dim != rank - 1 && dim != -1))
    return Unsupported("not over the last dimension");
  return r.CheckStatic(r.result(), rank - 1);
}

// Multiplies the last dimension by a constant stored as [in, out].
absl::Status ReadLinear(const OperationReader& r, std::string_view input, std::string_view bias,
                        Operation& operation) {
  operation.images = Images::kRows;
  operation.flags = kTransposedWeights;
  ABSL_RETURN_IF_ERROR(r.One(input, operation));
  ABSL_ASSIGN_OR_RETURN(operation.weight, r.Constant("mat2", 2));
  if (bias.empty()) return absl::OkStatus();
  ABSL_ASSIGN_OR_RETURN(operation.bias, r.Constant(bias, 1));
  if (SizesOf(r.program, *operation.bias)[0] != SizesOf(r.program, r.result()).back()) {
    return Unsupported("the bias is broadcast");
  }
  return absl::OkStatus();
}
absl::Status ReadAddmm(const OperationReader& r, Operation& operation) {
  for (const char* name : {"alpha", "beta"}) {
    ABSL_ASSIGN_OR_RETURN(const double number, r.Number(name));
    if (number != 1) return Unsupported(absl::StrCat(name, " is not 1"));
  }
  return ReadLinear(r, "mat1", "self", operation);
}
absl::Status ReadMm(const OperationReader& r, Operation& operation) {
  return ReadLinear(r, "self", "", operation);
}

absl::Status ReadBmm(const OperationReader& r, Operation& operation) {
  operation.images = Images::kRows;
  ABSL_RETURN_IF_ERROR(r.One("self", operation));
  return r.One("mat2", operation);
}

absl::Status ReadConvolution(const OperationReader& r, Operation& operation) {
  ABSL_RETURN_IF_ERROR(r.OneImage("input", operation));
  ABSL_ASSIGN_OR_RETURN(operation.weight, r.Constant("weight", 4));
  const Sizes weight = SizesOf(r.program, *operation.weight);
  if (!r.node.argument("bias").is_none()) {
    ABSL_ASSIGN_OR_RETURN(operation.bias, r.Constant("bias", 1));
  }
  ABSL_ASSIGN_OR_RETURN(const bool transposed, r.Bool("transposed"));
  ABSL_ASSIGN_OR_RETURN(const int64_t groups, r.Int("groups"));
  ABSL_ASSIGN_OR_RETURN(const auto stride, r.Pair("stride", 1, {1, 1}));
  ABSL_ASSIGN_OR_RETURN(const auto padding, r.Pair("padding", 0, {0, 0}));
  ABSL_ASSIGN_OR_RETURN(const auto dilation, r.Pair("dilation", 1, {1, 1}));
  ABSL_ASSIGN_OR_RETURN(const auto adjust, r.Pair("output_padding", 0, {0, 0}));
  if (groups < 1) return Unsupported(absl::StrCat("groups is ", groups));
  if (transposed && groups != 1) return Unsupported("it is transposed and has groups");
  Window& w = operation.window;
  w.kernel_height = weight[2];
  w.kernel_width = weight[3];
  if (std::max(w.kernel_height, w.kernel_width) > kMaxWindowNumber) {
    return Unsupported("the kernel is too large");
  }
  std::tie(w.stride_height, w.stride_width) = stride;
  std::tie(w.dilation_height, w.dilation_width) = dilation;
  std::tie(w.top, w.left) = std::tie(w.bottom, w.right) = padding;
  w.groups = groups;
  if (transposed) {
    std::tie(w.adjust_height, w.adjust_width) = adjust;
    w.group_inputs = weight[0];
    w.group_outputs = weight[1];
    operation.type = NodeType::ConvTranspose2d;
    return absl::OkStatus();
  }
  w.group_inputs = weight[1];
  w.group_outputs = weight[0] / groups;
  if (w.group_inputs == 1 && groups > 1) operation.type = NodeType::DepthwiseConv2d;
  return absl::OkStatus();
}

// With given statistics, a scale and shift per channel: a 1x1 depthwise convolution.
absl::Status ReadBatchNorm(const OperationReader& r, Operation& operation) {
  ABSL_RETURN_IF_ERROR(r.CheckOneResult("statistics"));
  ABSL_RETURN_IF_ERROR(r.OneImage("input", operation));
  const int64_t channels = SizesOf(r.program, r.result())[1];
  std::vector<float> scales(static_cast<size_t>(channels), 1), shifts(scales.size(), 0);
  if (!r.node.argument("weight").is_none()) {
    ABSL_ASSIGN_OR_RETURN(scales, r.Channels("weight", channels));
  }
  if (!r.node.argument("bias").is_none()) {
    ABSL_ASSIGN_OR_RETURN(shifts, r.Channels("bias", channels));
  }
  ABSL_ASSIGN_OR_RETURN(const std::vector<float> mean, r.Channels("running_mean", channels));
  ABSL_ASSIGN_OR_RETURN(const std::vector<float> variance, r.Channels("running_var", channels));
  ABSL_ASSIGN_OR_RETURN(const double eps, r.Number("eps"));
  for (size_t c = 0; c < scales.size(); ++c) {
    const double factor = scales[c] / std::sqrt(variance[c] + eps);
    operation.scales.push_back(static_cast<float>(factor));
    operation.shifts.push_back(static_cast<float>(shifts[c] - mean[c] * factor));
  }
  operation.window.groups = channels;
  return absl::OkStatus();
}

absl::Status ReadPool(const OperationReader& r, Operation& operation) {
  ABSL_RETURN_IF_ERROR(r.OneImage("self", operation));
  ABSL_ASSIGN_OR_RETURN(const auto kernel, r.Pair("kernel_size", 1, {1, 1}));
  ABSL_ASSIGN_OR_RETURN(const auto stride, r.Pair("stride", 1, kernel));
  ABSL_ASSIGN_OR_RETURN(const auto padding, r.Pair("padding", 0, {0, 0}));
  Window& w = operation.window;
  std::tie(w.kernel_height, w.kernel_width) = kernel;
  std::tie(w.stride_height, w.stride_width) = stride;
  std::tie(w.top, w.left) = std::tie(w.bottom, w.right) = padding;
  if (kernel == std::pair<int64_t, int64_t>(1, 1)) return Unsupported("the window is one element");
  if (w.stride_height > w.kernel_height || w.stride_width > w.kernel_width) {
    return Unsupported("the stride is larger than the window");
  }
  return absl::OkStatus();
}
// Pads the end of rows or columns so that the last window is inside, as in ceil_mode.
absl::Status PadLastWindow(const OperationReader& r, ValueId input, int dim, int64_t kernel,
                           int64_t stride, int64_t dilation, int64_t before, int64_t& after) {
  ABSL_RETURN_IF_ERROR(r.CheckStatic(input, dim));
  ABSL_RETURN_IF_ERROR(r.CheckStatic(r.result(), dim));
  // Sizes are at most 2^24, and the others at most 2^15.
  const int64_t end =
      (SizesOf(r.program, r.result())[dim] - 1) * stride + (kernel - 1) * dilation + 1;
  after = std::max(after, end - before - SizesOf(r.program, input)[dim]);
  return after <= kMaxWindowNumber ? absl::OkStatus() : Unsupported("the padding is too large");
}

absl::Status ReadMaxPool(const OperationReader& r, Operation& operation) {
  ABSL_RETURN_IF_ERROR(r.CheckOneResult("indices"));
  ABSL_RETURN_IF_ERROR(ReadPool(r, operation));
  ABSL_ASSIGN_OR_RETURN(const auto dilation, r.Pair("dilation", 1, {1, 1}));
  Window& w = operation.window;
  std::tie(w.dilation_height, w.dilation_width) = dilation;
  ABSL_ASSIGN_OR_RETURN(const bool ceil_mode, r.Bool("ceil_mode"));
  if (!ceil_mode) return absl::OkStatus();
  const ValueId input = std::get<ValueId>(operation.operands[0]);
  ABSL_RETURN_IF_ERROR(PadLastWindow(r, input, 2, w.kernel_height, w.stride_height,
                                     w.dilation_height, w.top, w.bottom));
  return PadLastWindow(r, input, 3, w.kernel_width, w.stride_width, w.dilation_width, w.left,
                       w.right);
}
// The maxima of whole rows and columns: a window as large as these dimensions.
absl::Status ReadMaxOver(const OperationReader& r, Operation& operation) {
  ABSL_RETURN_IF_ERROR(r.CheckOneResult("indices"));
  ABSL_RETURN_IF_ERROR(r.OneImage("self", operation));
  ABSL_ASSIGN_OR_RETURN(const std::vector<int64_t> dims, r.Ints("dim"));
  ABSL_ASSIGN_OR_RETURN(const bool keepdim, r.Bool("keepdim"));
  if (!keepdim || dims.empty()) return Unsupported("not over rows and columns with keepdim");
  const ValueId input = std::get<ValueId>(operation.operands[0]);
  Window& w = operation.window;
  for (const int64_t dim : dims) {
    ABSL_ASSIGN_OR_RETURN(const int at, r.Dim(dim, 4));
    if (at < 2) return Unsupported("not over rows and columns with keepdim");
    ABSL_RETURN_IF_ERROR(r.CheckStatic(input, at));
    const int64_t size = SizesOf(r.program, input)[at];
    if (size > kMaxWindowNumber) return Unsupported("the window is too large");
    (at == 2 ? w.kernel_height : w.kernel_width) = size;
    (at == 2 ? w.stride_height : w.stride_width) = size;
  }
  return w.kernel_height * w.kernel_width == 1 ? Unsupported("the window is one element")
                                               : absl::OkStatus();
}
absl::Status ReadAvgPool(const OperationReader& r, Operation& operation) {
  ABSL_RETURN_IF_ERROR(ReadPool(r, operation));
  ABSL_ASSIGN_OR_RETURN(const bool ceil_mode, r.Bool("ceil_mode"));
  if (ceil_mode) return Unsupported("ceil_mode is set");
  if (!r.node.argument("divisor_override").is_none())
    return Unsupported("divisor_override is given");
  ABSL_ASSIGN_OR_RETURN(const bool counted, r.Bool("count_include_pad"));
  const Window& w = operation.window;
  return counted && w.top + w.left > 0 ? Unsupported("padding is counted") : absl::OkStatus();
}

absl::Status ReadMean(const OperationReader& r, Operation& operation) {
  ABSL_RETURN_IF_ERROR(r.OneImage("self", operation));
  operation.flags = kKeepDims;
  ABSL_ASSIGN_OR_RETURN(std::vector<int64_t> dims, r.Ints("dim"));
  for (int64_t& dim : dims) dim += dim < 0 ? 4 : 0;
  std::sort(dims.begin(), dims.end());
  ABSL_ASSIGN_OR_RETURN(const bool keepdim, r.Bool("keepdim"));
  if (dims != std::vector<int64_t>{2, 3} || !keepdim) {
    return Unsupported("not over the last two dimensions with keepdim");
  }
  return absl::OkStatus();
}
// Requires windows of equal size that do not overlap.
absl::Status ReadAdaptive(const OperationReader& r, Operation& operation) {
  ABSL_RETURN_IF_ERROR(r.OneImage("self", operation));
  const ValueId input = std::get<ValueId>(operation.operands[0]);
  const Sizes from = SizesOf(r.program, input), to = SizesOf(r.program, r.result());
  if (to[2] == 1 && to[3] == 1) {
    operation.flags = kKeepDims;
    return absl::OkStatus();
  }
  ABSL_RETURN_IF_ERROR(r.CheckStatic(input, 2));
  ABSL_RETURN_IF_ERROR(r.CheckStatic(input, 3));
  if (from[2] % to[2] != 0 || from[3] % to[3] != 0 || to == from) {
    return Unsupported("its windows differ in size, or have one element");
  }
  operation.type = NodeType::AvgPooling2d;
  Window& w = operation.window;
  w.kernel_height = w.stride_height = from[2] / to[2];
  w.kernel_width = w.stride_width = from[3] / to[3];
  return absl::OkStatus();
}

// The library derives the distances of the samples from the sizes: scale factors must agree.
absl::Status ReadResize(const OperationReader& r, Operation& operation) {
  const bool is_vec = r.node.target->ArgumentIndex("scale_factors").has_value();
  ABSL_RETURN_IF_ERROR(r.OneImage(is_vec ? "input" : "self", operation));
  const Sizes from = SizesOf(r.program, std::get<ValueId>(operation.operands[0]));
  const Sizes to = SizesOf(r.program, r.result());
  for (int dim = 2; dim < 4; ++dim) {
    ABSL_RETURN_IF_ERROR(r.CheckStatic(std::get<ValueId>(operation.operands[0]), dim));
    ABSL_RETURN_IF_ERROR(r.CheckStatic(r.result(), dim));
  }
  std::vector<Argument> scales = {r.node.argument("scales_h"), r.node.argument("scales_w")};
  if (const Argument::List* list = r.node.argument("scale_factors").get_if<Argument::List>()) {
    scales.assign(list->begin(), list->end());
  }
  for (size_t i = 0; i < scales.size() && i < 2; ++i) {
    if (scales[i].is_none()) continue;
    ABSL_ASSIGN_OR_RETURN(const double scale, OperationReader::NumberOf(scales[i], "scales"));
    const int dim = 2 + static_cast<int>(i);
    if (static_cast<double>(from[dim]) * scale != static_cast<double>(to[dim])) {
      return Unsupported("its scale factors are not those of the sizes");
    }
  }
  ABSL_ASSIGN_OR_RETURN(const bool corners, r.Bool("align_corners"));
  if (corners) operation.flags = kAlignCorners;
  operation.numbers = Sizes({to[2], to[3]});
  return absl::OkStatus();
}

absl::Status ReadCat(const OperationReader& r, Operation& operation) {
  const Argument::List* list = r.node.argument("tensors").get_if<Argument::List>();
  if (list == nullptr || list->size() < 2 || list->size() > 5) {
    return Unsupported("it does not have 2 to 5 inputs");
  }
  for (const Argument& element : *list) {
    ABSL_ASSIGN_OR_RETURN(const ValueId value, r.Tensor(element));
    operation.operands.push_back(value);
  }
  constexpr NodeType kTypes[] = {NodeType::Concatenate2, NodeType::Concatenate3,
                                 NodeType::Concatenate4, NodeType::Concatenate5};
  operation.type = kTypes[list->size() - 2];
  ABSL_ASSIGN_OR_RETURN(const int64_t dim, r.Int("dim"));
  ABSL_ASSIGN_OR_RETURN(const int axis, r.Dim(dim, SizesOf(r.program, r.result()).size()));
  operation.numbers = Sizes({axis});
  return absl::OkStatus();
}

absl::Status ReadPermutation(const OperationReader& r, Operation& operation) {
  operation.images = Images::kRows;
  ABSL_RETURN_IF_ERROR(r.One("self", operation));
  const std::optional<Sizes> dims = PermutationOf(r.graph, r.node);
  if (!dims.has_value()) return Unsupported("its dimensions are not those of the input");
  operation.numbers = *dims;
  return absl::OkStatus();
}

// Determined by the result's sizes.
absl::Status ReadReshape(const OperationReader& r, Operation& operation) {
  operation.images = Images::kRows;
  ABSL_RETURN_IF_ERROR(r.One("self", operation));
  operation.numbers = SizesOf(r.program, r.result());
  int inferred = 0;
  for (int i = 0; i < operation.numbers.size(); ++i) {
    if (r.CheckStatic(r.result(), i).ok()) continue;
    operation.numbers[i] = 0;
    ++inferred;
  }
  return inferred <= 1 ? absl::OkStatus()
                       : Unsupported("more than one size of the result is dynamic");
}

absl::Status ReadSlice(const OperationReader& r, Operation& operation) {
  ABSL_RETURN_IF_ERROR(r.One("self", operation));
  ABSL_ASSIGN_OR_RETURN(const int64_t step, r.Int("step"));
  if (step != 1) return Unsupported("the step is not 1");
  const Sizes input = SizesOf(r.program, std::get<ValueId>(operation.operands[0]));
  ABSL_ASSIGN_OR_RETURN(const int64_t dim, r.Int("dim"));
  ABSL_ASSIGN_OR_RETURN(const int at, r.Dim(dim, input.size()));
  int64_t start = 0;
  if (!r.node.argument("start").is_none()) {
    ABSL_ASSIGN_OR_RETURN(start, r.Int("start"));
  }
  for (int i = 0; i < input.size(); ++i) {
    ABSL_RETURN_IF_ERROR(r.CheckStatic(r.result(), i));
  }
  if (start < 0) {
    ABSL_RETURN_IF_ERROR(r.CheckStatic(std::get<ValueId>(operation.operands[0]), at));
    start += input[at];
  }
  operation.more_numbers = SizesOf(r.program, r.result());
  operation.numbers = Sizes(input.size(), 0);
  operation.numbers[at] = std::clamp<int64_t>(start, 0, input[at]);
  return absl::OkStatus();
}

absl::Status ReadPad(const OperationReader& r, Operation& operation) {
  ABSL_RETURN_IF_ERROR(r.One("self", operation));
  ABSL_ASSIGN_OR_RETURN(const std::vector<int64_t> pad, r.Ints("pad"));
  if (!r.node.argument("value").is_none()) {
    ABSL_ASSIGN_OR_RETURN(const double value, r.Number("value"));
    operation.number = static_cast<float>(value);
  }
  const int rank = SizesOf(r.program, r.result()).size();
  operation.numbers = operation.more_numbers = Sizes(rank, 0);
  // Last dimension first: before, after.
  for (size_t i = 0; i < pad.size(); ++i) {
    if (pad[i] < 0 || pad[i] > kMaxSize || i / 2 >= static_cast<size_t>(rank)) {
      return Unsupported("padding is negative");
    }
    Sizes& side = i % 2 == 0 ? operation.numbers : operation.more_numbers;
    side[rank - 1 - static_cast<int>(i / 2)] = pad[i];
  }
  return absl::OkStatus();
}

// A copy or a change of memory order, which payloads do not represent.
absl::Status ReadAlias(const OperationReader& r, Operation& operation) {
  ABSL_RETURN_IF_ERROR(r.One("self", operation));
  const auto sizes_of = [&](ValueId value) -> const std::vector<exir::SymInt>& {
    return r.graph.value(value).tensor()->sizes;
  };
  if (sizes_of(std::get<ValueId>(operation.operands[0])) == sizes_of(r.result())) {
    return absl::OkStatus();
  }
  return Unsupported("it expands its input");
}

absl::Status ReadQuantize(const OperationReader& r, Operation& operation) {
  ABSL_RETURN_IF_ERROR(CheckConversion(r.program, r.id));
  return r.One("input", operation);
}
absl::Status ReadDequantize(const OperationReader& r, Operation& operation) {
  ABSL_RETURN_IF_ERROR(CheckConversion(r.program, r.id));
  const ValueId input = *r.node.value_argument("input");
  operation.operands.push_back(input);
  return r.CheckTensor(input, DType::kInt8);
}

// The payload quantizes when the rows are used.
absl::Status ReadDynamicRows(const OperationReader& r, Operation& operation) {
  const std::optional<DynamicRows> rows = DynamicRowsOf(r.program, r.id);
  if (!rows.has_value()) return Unsupported("its rows have other users");
  operation.operands.push_back(rows->source);
  return r.CheckTensor(rows->source);
}

constexpr OperationRule kRules[] = {
    {"aten.add.Tensor", ReadBinary, NodeType::Add},
    {"aten.add.Scalar", ReadBinary, NodeType::Add},
    {"aten.sub.Tensor", ReadBinary, NodeType::Subtract},
    {"aten.sub.Scalar", ReadBinary, NodeType::Subtract},
    {"aten.mul.Tensor", ReadBinary, NodeType::Multiply},
    {"aten.mul.Scalar", ReadBinary, NodeType::Multiply},
    {"aten.div.Tensor", ReadBinary, NodeType::Div},
    {"aten.div.Scalar", ReadBinary, NodeType::Div},
    {"aten.minimum.default", ReadBinary, NodeType::Minimum},
    {"aten.maximum.default", ReadBinary, NodeType::Maximum},
    {"aten.relu.default", ReadRelu, NodeType::Clamp},
    {"aten.clamp.default", ReadClamp, NodeType::Clamp},
    {"aten.hardtanh.default", ReadClamp, NodeType::Clamp},
    {"aten.sigmoid.default", ReadUnary, NodeType::Sigmoid},
    {"aten.sqrt.default", ReadUnary, NodeType::SquareRoot},
    {"aten.rsqrt.default", ReadUnary, NodeType::ReciprocalSquareRoot},
    {"aten.abs.default", ReadUnary, NodeType::Abs},
    {"aten.neg.default", ReadUnary, NodeType::Negate},
    {"aten.floor.default", ReadUnary, NodeType::Floor},
    {"aten.ceil.default", ReadUnary, NodeType::Ceiling},
    {"aten.exp.default", ReadUnary, NodeType::Exp},
    {"aten.log.default", ReadUnary, NodeType::Log},
    {"aten.sin.default", ReadUnary, NodeType::Sin},
    {"aten.cos.default", ReadUnary, NodeType::Cos},
    {"aten.tanh.default", ReadUnary, NodeType::Tanh},
    {"aten.gelu.default", ReadGelu, NodeType::Gelu},
    {"aten.leaky_relu.default", ReadSlope, NodeType::LeakyReLU},
    {"aten.elu.default", ReadElu, NodeType::ELU},
    {"aten.hardswish.default", ReadUnary, NodeType::Hardswish},
    {"aten.prelu.default", ReadPrelu, NodeType::PReLU},
    {"aten._prelu_kernel.default", ReadPrelu, NodeType::PReLU},
    {"aten.pow.Tensor_Scalar", ReadPow, NodeType::Square},
    {"aten._softmax.default", ReadSoftmax, NodeType::Softmax},
    {"aten.addmm.default", ReadAddmm, NodeType::FullyConnected},
    {"aten.mm.default", ReadMm, NodeType::FullyConnected},
    {"aten.bmm.default", ReadBmm, NodeType::BatchMatrixMultiply},
    {"aten.convolution.default", ReadConvolution, NodeType::Conv2d},
    {"aten._native_batch_norm_legit_no_training.default", ReadBatchNorm, NodeType::DepthwiseConv2d},
    {"aten.max_pool2d_with_indices.default", ReadMaxPool, NodeType::MaxPooling2d},
    {"aten.max.dim", ReadMaxOver, NodeType::MaxPooling2d},
    {"aten.amax.default", ReadMaxOver, NodeType::MaxPooling2d},
    {"aten.avg_pool2d.default", ReadAvgPool, NodeType::AvgPooling2d},
    {"aten.mean.dim", ReadMean, NodeType::GlobalAvgPooling2d},
    {"aten._adaptive_avg_pool2d.default", ReadAdaptive, NodeType::GlobalAvgPooling2d},
    {"aten.upsample_bilinear2d.default", ReadResize, NodeType::StaticResizeBilinear2D},
    {"aten.upsample_bilinear2d.vec", ReadResize, NodeType::StaticResizeBilinear2D},
    {"aten.cat.default", ReadCat, NodeType::Concatenate2},
    {"aten.permute_copy.default", ReadPermutation, NodeType::StaticTranspose},
    {"aten.transpose_copy.int", ReadPermutation, NodeType::StaticTranspose},
    {"aten.view_copy.default", ReadReshape, NodeType::StaticReshape},
    {"aten.unsqueeze_copy.default", ReadReshape, NodeType::StaticReshape},
    {"aten.squeeze_copy.dim", ReadReshape, NodeType::StaticReshape},
    {"aten.squeeze_copy.dims", ReadReshape, NodeType::StaticReshape},
    {"aten.slice_copy.Tensor", ReadSlice, NodeType::StaticSlice},
    {"aten.constant_pad_nd.default", ReadPad, NodeType::StaticConstantPad},
    {"aten.expand_copy.default", ReadAlias, NodeType::NONE},
    {"aten.clone.default", ReadAlias, NodeType::NONE},
    {"dim_order_ops._clone_dim_order.default", ReadAlias, NodeType::NONE},
    {"dim_order_ops._to_dim_order_copy.default", ReadAlias, NodeType::NONE},
    {"quantized_decomposed.quantize_per_tensor.default", ReadQuantize, NodeType::Convert,
     DType::kInt8},
    {"quantized_decomposed.dequantize_per_tensor.default", ReadDequantize, NodeType::Convert},
    {"quantized_decomposed.choose_qparams_per_token_asymmetric.default", ReadDynamicRows,
     NodeType::NONE, DType::kFloat64},
    {"quantized_decomposed.quantize_per_token.default", ReadDynamicRows, NodeType::NONE,
     DType::kInt8},
    {"quantized_decomposed.dequantize_per_token.default", ReadDynamicRows, NodeType::NONE},
};

}  // namespace

const OperationRule* FindOperationRule(std::string_view op) {
  for (const OperationRule& rule : kRules) {
    if (rule.op == op) return &rule;
  }
  return nullptr;
}

}  // namespace belay::xnnpack
