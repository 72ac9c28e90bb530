#include "backends/xnnpack/node_fields.h"

#include <initializer_list>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"

namespace belay::xnnpack {
namespace {

// Limit of kernels, strides and padding, so that the library's 32-bit arithmetic does not overflow.
constexpr uint32_t kMaxWindowNumber = 32767;

absl::Status Invalid(std::string message) { return absl::InvalidArgumentError(std::move(message)); }

absl::Status ReadWindow(std::initializer_list<std::pair<int64_t*, uint32_t>> numbers,
                        std::initializer_list<uint32_t> positive) {
  for (const auto& [to, number] : numbers) {
    if (number > kMaxWindowNumber) {
      return Invalid(absl::StrCat("a kernel, stride, dilation or padding of ", number, ", at most ",
                                  kMaxWindowNumber, " is possible"));
    }
    *to = number;
  }
  for (uint32_t number : positive) {
    if (number == 0) return Invalid("a kernel, stride, dilation or number of channels of 0");
  }
  return absl::OkStatus();
}

absl::StatusOr<OperandIds> ReadFields(const fb::Convolution& wire, Node& node) {
  Window& w = node.window;
  ABSL_RETURN_IF_ERROR(
      ReadWindow({{&w.top, wire.padding_top()},
                  {&w.right, wire.padding_right()},
                  {&w.bottom, wire.padding_bottom()},
                  {&w.left, wire.padding_left()},
                  {&w.kernel_height, wire.kernel_height()},
                  {&w.kernel_width, wire.kernel_width()},
                  {&w.stride_height, wire.subsampling_height()},
                  {&w.stride_width, wire.subsampling_width()},
                  {&w.dilation_height, wire.dilation_height()},
                  {&w.dilation_width, wire.dilation_width()},
                  {&w.adjust_height, wire.adjustment_height()},
                  {&w.adjust_width, wire.adjustment_width()}},
                 {wire.kernel_height(), wire.kernel_width(), wire.subsampling_height(),
                  wire.subsampling_width(), wire.dilation_height(), wire.dilation_width(),
                  wire.groups(), wire.group_input_channels(), wire.group_output_channels()}));
  w.groups = wire.groups();
  w.group_inputs = wire.group_input_channels();
  w.group_outputs = wire.group_output_channels();
  return OperandIds{
      {wire.input1_id(), wire.filter_id(), wire.bias_id()}, wire.output_id(), wire.flags(), true};
}

absl::StatusOr<OperandIds> ReadFields(const fb::Pool& wire, Node& node) {
  Window& w = node.window;
  // Average pools have no dilation; the field is 0.
  const bool dilated = node.type == NodeType::MaxPooling2d;
  const uint32_t dilation_height = dilated ? wire.dilation_height() : 1;
  const uint32_t dilation_width = dilated ? wire.dilation_width() : 1;
  ABSL_RETURN_IF_ERROR(
      ReadWindow({{&w.top, wire.padding_top()},
                  {&w.right, wire.padding_right()},
                  {&w.bottom, wire.padding_bottom()},
                  {&w.left, wire.padding_left()},
                  {&w.kernel_height, wire.pooling_height()},
                  {&w.kernel_width, wire.pooling_width()},
                  {&w.stride_height, wire.stride_height()},
                  {&w.stride_width, wire.stride_width()},
                  {&w.dilation_height, dilation_height},
                  {&w.dilation_width, dilation_width}},
                 {wire.pooling_height(), wire.pooling_width(), wire.stride_height(),
                  wire.stride_width(), dilation_height, dilation_width}));
  return OperandIds{{wire.input_id()}, wire.output_id(), wire.flags()};
}

absl::StatusOr<OperandIds> ReadFields(const fb::Concatenate& wire, Node& node) {
  node.numbers = Sizes({wire.axis()});
  const uint32_t ids[] = {wire.input1_id(), wire.input2_id(), wire.input3_id(), wire.input4_id(),
                          wire.input5_id()};
  switch (node.type) {
    case NodeType::Concatenate2:
      return OperandIds{{ids[0], ids[1]}, wire.output_id(), wire.flags()};
    case NodeType::Concatenate3:
      return OperandIds{{ids[0], ids[1], ids[2]}, wire.output_id(), wire.flags()};
    case NodeType::Concatenate4:
      return OperandIds{{ids[0], ids[1], ids[2], ids[3]}, wire.output_id(), wire.flags()};
    default:
      return OperandIds{{ids[0], ids[1], ids[2], ids[3], ids[4]}, wire.output_id(), wire.flags()};
  }
}

absl::StatusOr<OperandIds> ReadFields(const fb::Unary& wire, Node& node) {
  return OperandIds{{wire.input_id()}, wire.output_id(), wire.flags()};
}
absl::StatusOr<OperandIds> ReadFields(const fb::Binary& wire, Node& node) {
  return OperandIds{{wire.input1_id(), wire.input2_id()}, wire.output_id(), wire.flags()};
}
absl::StatusOr<OperandIds> ReadFields(const fb::Slope& wire, Node& node) {
  node.number = wire.slope();
  return OperandIds{{wire.input_id()}, wire.output_id(), wire.flags()};
}
absl::StatusOr<OperandIds> ReadFields(const fb::FullyConnected& wire, Node& node) {
  return OperandIds{
      {wire.input1_id(), wire.filter_id(), wire.bias_id()}, wire.output_id(), wire.flags(), true};
}
absl::StatusOr<OperandIds> ReadFields(const fb::Transpose& wire, Node& node) {
  ABSL_ASSIGN_OR_RETURN(node.numbers, ReadNumbers(wire.perm(), wire.num_dims()));
  return OperandIds{{wire.input_id()}, wire.output_id(), wire.flags()};
}
absl::StatusOr<OperandIds> ReadFields(const fb::Reshape& wire, Node& node) {
  ABSL_ASSIGN_OR_RETURN(node.numbers, ReadNumbers(wire.new_shape(), wire.num_dims()));
  return OperandIds{{wire.input_id()}, wire.output_id(), wire.flags()};
}
absl::StatusOr<OperandIds> ReadFields(const fb::Slice& wire, Node& node) {
  ABSL_ASSIGN_OR_RETURN(node.numbers, ReadNumbers(wire.offsets(), wire.num_dims()));
  ABSL_ASSIGN_OR_RETURN(node.more_numbers, ReadNumbers(wire.sizes(), wire.num_dims()));
  return OperandIds{{wire.input_id()}, wire.output_id(), wire.flags()};
}
absl::StatusOr<OperandIds> ReadFields(const fb::Pad& wire, Node& node) {
  ABSL_ASSIGN_OR_RETURN(node.numbers, ReadNumbers(wire.pre_paddings(), std::nullopt));
  ABSL_ASSIGN_OR_RETURN(node.more_numbers, ReadNumbers(wire.post_paddings(), std::nullopt));
  node.number = wire.padding_value();
  return OperandIds{{wire.input_id()}, wire.output_id(), wire.flags()};
}
absl::StatusOr<OperandIds> ReadFields(const fb::Resize& wire, Node& node) {
  node.numbers = Sizes({wire.new_height(), wire.new_width()});
  return OperandIds{{wire.input_id()}, wire.output_id(), wire.flags()};
}

}  // namespace

bool HasNodeFields(NodeType type) {
  return type > NodeType::NONE && type <= NodeType::MAX && type != NodeType::ArgMaxPooling2d &&
         type != NodeType::ScaledDotProductAttention;
}

absl::StatusOr<OperandIds> ReadNodeFields(const fb::Node& wire, Node& node) {
  const void* fields = wire.node();
  if (fields == nullptr) return Invalid("it has no fields");
  switch (node.type) {
    case NodeType::FullyConnected:
      return ReadFields(*static_cast<const fb::FullyConnected*>(fields), node);
    case NodeType::StaticTranspose:
      return ReadFields(*static_cast<const fb::Transpose*>(fields), node);
    case NodeType::Conv2d:
    case NodeType::DepthwiseConv2d:
    case NodeType::ConvTranspose2d:
      return ReadFields(*static_cast<const fb::Convolution*>(fields), node);
    case NodeType::StaticResizeBilinear2D:
      return ReadFields(*static_cast<const fb::Resize*>(fields), node);
    case NodeType::StaticConstantPad:
      return ReadFields(*static_cast<const fb::Pad*>(fields), node);
    case NodeType::AvgPooling2d:
    case NodeType::MaxPooling2d:
      return ReadFields(*static_cast<const fb::Pool*>(fields), node);
    case NodeType::StaticReshape:
      return ReadFields(*static_cast<const fb::Reshape*>(fields), node);
    case NodeType::StaticSlice:
      return ReadFields(*static_cast<const fb::Slice*>(fields), node);
    case NodeType::LeakyReLU:
    case NodeType::ELU:
      return ReadFields(*static_cast<const fb::Slope*>(fields), node);
    case NodeType::Concatenate2:
    case NodeType::Concatenate3:
    case NodeType::Concatenate4:
    case NodeType::Concatenate5:
      return ReadFields(*static_cast<const fb::Concatenate*>(fields), node);
    case NodeType::Add:
    case NodeType::Div:
    case NodeType::Minimum:
    case NodeType::Maximum:
    case NodeType::Multiply:
    case NodeType::Subtract:
    case NodeType::PReLU:
    case NodeType::BatchMatrixMultiply:
      return ReadFields(*static_cast<const fb::Binary*>(fields), node);
    default:
      return ReadFields(*static_cast<const fb::Unary*>(fields), node);
  }
}

absl::StatusOr<Sizes> ReadNumbers(const flatbuffers::Vector<uint32_t>* numbers,
                                  std::optional<uint32_t> count) {
  constexpr uint32_t kMaxDims = 6;
  const uint32_t size = numbers == nullptr ? 0 : numbers->size();
  if (count.has_value() && size != *count) {
    return Invalid(absl::StrCat("expected ", *count, " numbers, got ", size));
  }
  if (size > kMaxDims) {
    return Invalid(absl::StrCat(size, " dimensions, at most ", kMaxDims, " are possible"));
  }
  Sizes result;
  for (uint32_t i = 0; i < size; ++i) result.push_back(numbers->Get(i));
  return result;
}

}  // namespace belay::xnnpack
