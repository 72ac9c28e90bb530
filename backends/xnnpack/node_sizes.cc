#include "backends/xnnpack/node_sizes.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/core/checked_math.h"
#include "runtime/core/status_macros.h"

namespace belay::xnnpack {
namespace {

using SizeList = absl::Span<const Sizes* const>;

absl::Status Expected(std::string_view what, const Sizes& expected, const Sizes& got) {
  return absl::InvalidArgumentError(absl::StrCat(
      "expected ", what, " of sizes ", FormatSizes(expected), ", got ", FormatSizes(got)));
}

absl::Status CheckRank(const Sizes& sizes, int rank) {
  if (sizes.size() == rank) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("expected an input of rank ", rank, ", got ", FormatSizes(sizes)));
}

// Requires one entry per dimension of the input.
absl::Status CheckCount(const Sizes& numbers, const Sizes& input) {
  if (numbers.size() == input.size()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "expected a number per dimension of ", FormatSizes(input), ", got ", FormatSizes(numbers)));
}

// Number of positions of a window of `kernel` elements along a dimension.
CheckedInt Places(CheckedInt size, CheckedInt padding, CheckedInt kernel, CheckedInt dilation,
                  CheckedInt stride) {
  return FloorDiv(size + padding - ((kernel - 1) * dilation + 1), stride) + 1;
}

absl::StatusOr<Sizes> Image(const Node& node, int64_t batch, CheckedInt height, CheckedInt width,
                            int64_t channels) {
  if (!height.ok() || !width.ok() || height.value() < 1 || width.value() < 1) {
    return absl::InvalidArgumentError("the window is larger than the padded input");
  }
  return Sizes({batch, height.value(), width.value(), channels});
}

absl::StatusOr<Sizes> ConvolutionSizes(const Node& node, SizeList sizes) {
  const Sizes& input = *sizes[0];
  ABSL_RETURN_IF_ERROR(CheckRank(input, 4));
  const Window& w = node.window;
  const CheckedInt inputs = CheckedInt(w.groups) * w.group_inputs;
  const CheckedInt outputs = CheckedInt(w.groups) * w.group_outputs;
  if (!outputs.ok() || !(inputs == CheckedInt(input[3]))) {
    return absl::InvalidArgumentError(absl::StrCat(w.groups, " groups of ", w.group_inputs,
                                                   " channels, the input has ", input[3]));
  }
  const bool depthwise = node.type == NodeType::DepthwiseConv2d;
  if (depthwise && w.group_inputs != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected groups of 1 input channel, got ", w.group_inputs));
  }
  const Sizes filter =
      depthwise ? Sizes({1, w.kernel_height, w.kernel_width, outputs.value()})
                : Sizes({outputs.value(), w.kernel_height, w.kernel_width, w.group_inputs});
  if (!(*sizes[1] == filter)) return Expected("a filter", filter, *sizes[1]);
  const Sizes bias({outputs.value()});
  if (sizes[2] != nullptr && !(*sizes[2] == bias)) return Expected("a bias", bias, *sizes[2]);
  if (node.type == NodeType::ConvTranspose2d) {
    const auto extent = [](int64_t size, int64_t stride, int64_t adjust, int64_t kernel,
                           int64_t dilation, CheckedInt padding) {
      return (CheckedInt(size) - 1) * stride + adjust + (CheckedInt(kernel) - 1) * dilation + 1 -
             padding;
    };
    if (w.adjust_height >= w.stride_height || w.adjust_width >= w.stride_width) {
      return absl::InvalidArgumentError("the adjustment is not less than the stride");
    }
    return Image(node, input[0],
                 extent(input[1], w.stride_height, w.adjust_height, w.kernel_height,
                        w.dilation_height, CheckedInt(w.top) + w.bottom),
                 extent(input[2], w.stride_width, w.adjust_width, w.kernel_width, w.dilation_width,
                        CheckedInt(w.left) + w.right),
                 outputs.value());
  }
  return Image(node, input[0],
               Places(input[1], CheckedInt(w.top) + w.bottom, w.kernel_height, w.dilation_height,
                      w.stride_height),
               Places(input[2], CheckedInt(w.left) + w.right, w.kernel_width, w.dilation_width,
                      w.stride_width),
               outputs.value());
}

absl::StatusOr<Sizes> PoolSizes(const Node& node, const Sizes& input) {
  ABSL_RETURN_IF_ERROR(CheckRank(input, 4));
  const Window& w = node.window;
  // A window that is entirely in the padding would be empty.
  if (std::max(w.top, w.bottom) >= w.kernel_height || std::max(w.left, w.right) >= w.kernel_width) {
    return absl::InvalidArgumentError("the padding is not less than the window");
  }
  return Image(node, input[0],
               Places(input[1], CheckedInt(w.top) + w.bottom, w.kernel_height, w.dilation_height,
                      w.stride_height),
               Places(input[2], CheckedInt(w.left) + w.right, w.kernel_width, w.dilation_width,
                      w.stride_width),
               input[3]);
}

absl::StatusOr<Sizes> LinearSizes(const Node& node, SizeList sizes) {
  const Sizes& filter = *sizes[1];
  if (filter.size() != 2 || sizes[0]->empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "expected a filter of rank 2, got ", FormatSizes(filter), " for ", FormatSizes(*sizes[0])));
  }
  const int in = (node.flags & kTransposedWeights) != 0 ? 0 : 1;
  Sizes result = *sizes[0];
  if (result.back() != filter[in]) {
    return absl::InvalidArgumentError(absl::StrCat("the filter ", FormatSizes(filter), " takes ",
                                                   filter[in], " channels, got ",
                                                   FormatSizes(result)));
  }
  result.back() = filter[1 - in];
  const Sizes bias({result.back()});
  if (sizes[2] != nullptr && !(*sizes[2] == bias)) return Expected("a bias", bias, *sizes[2]);
  return result;
}

absl::StatusOr<Sizes> ProductSizes(const Node& node, const Sizes& left, const Sizes& right) {
  const int rank = left.size();
  const bool transposed = (node.flags & kTransposedWeights) != 0;
  Sizes expected = left;  // of the second operand
  if (rank >= 2 && right.size() == rank) {
    const int64_t columns = right[rank - (transposed ? 2 : 1)];
    expected[rank - 2] = transposed ? columns : left.back();
    expected[rank - 1] = transposed ? left.back() : columns;
    if (right == expected) {
      Sizes result = left;
      result.back() = columns;
      return result;
    }
  }
  return Expected("matrices", expected, right);
}

absl::StatusOr<Sizes> ReshapeSizes(const Node& node, const Sizes& input) {
  Sizes result = node.numbers;
  CheckedInt known = 1;
  int inferred = -1;
  for (int i = 0; i < result.size(); ++i) {
    if (result[i] != 0) {
      known = known * result[i];
    } else if (inferred >= 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("more than one inferred size: ", FormatSizes(result)));
    } else {
      inferred = i;
    }
  }
  const int64_t numel = *NumElements(input);
  if (inferred >= 0 && known.ok()) {
    result[inferred] = numel / known.value();
    known = known * result[inferred];
  }
  if (!(known == CheckedInt(numel))) {
    return absl::InvalidArgumentError(absl::StrCat(
        FormatSizes(input), " does not have as many elements as ", FormatSizes(node.numbers)));
  }
  return result;
}

absl::StatusOr<Sizes> ConcatenateSizes(const Node& node, SizeList sizes) {
  Sizes result = *sizes[0];
  const int64_t axis = node.numbers[0];
  if (axis >= result.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("axis ", axis, " of inputs of rank ", result.size()));
  }
  CheckedInt sum = 0;
  for (const Sizes* input : sizes) {
    Sizes expected = result;
    if (input->size() == expected.size()) {
      sum = sum + (*input)[static_cast<int>(axis)];
      expected[static_cast<int>(axis)] = (*input)[static_cast<int>(axis)];
    }
    if (!(*input == expected)) return Expected("an input", expected, *input);
  }
  if (!sum.ok()) return absl::InvalidArgumentError("the sum of sizes is too large");
  result[static_cast<int>(axis)] = sum.value();
  return result;
}

absl::StatusOr<Sizes> Unchecked(const Node& node, SizeList sizes) {
  const Sizes& input = *sizes[0];
  if (Broadcasts(node.type)) return BroadcastSizes(input, *sizes[1]);
  switch (node.type) {
    case NodeType::FullyConnected:
      return LinearSizes(node, sizes);
    case NodeType::BatchMatrixMultiply:
      return ProductSizes(node, input, *sizes[1]);
    case NodeType::Conv2d:
    case NodeType::DepthwiseConv2d:
    case NodeType::ConvTranspose2d:
      return ConvolutionSizes(node, sizes);
    case NodeType::AvgPooling2d:
    case NodeType::MaxPooling2d:
      return PoolSizes(node, input);
    case NodeType::GlobalAvgPooling2d:
      ABSL_RETURN_IF_ERROR(CheckRank(input, 4));
      return (node.flags & kKeepDims) != 0 ? Sizes({input[0], 1, 1, input[3]})
                                           : Sizes({input[0], input[3]});
    case NodeType::StaticTranspose: {
      ABSL_RETURN_IF_ERROR(CheckCount(node.numbers, input));
      DimOrder perm;
      for (int64_t dim : node.numbers)
        perm.push_back(static_cast<uint8_t>(std::min<int64_t>(dim, 255)));
      if (!IsPermutation(perm)) {
        return absl::InvalidArgumentError(
            absl::StrCat(FormatSizes(node.numbers), " is not a permutation"));
      }
      Sizes result;
      for (int64_t dim : node.numbers) result.push_back(input[static_cast<int>(dim)]);
      return result;
    }
    case NodeType::StaticReshape:
      return ReshapeSizes(node, input);
    case NodeType::StaticConstantPad: {
      ABSL_RETURN_IF_ERROR(CheckCount(node.numbers, input));
      ABSL_RETURN_IF_ERROR(CheckCount(node.more_numbers, input));
      Sizes result;
      // Every term is below 2^32, except the input's size.
      for (int i = 0; i < input.size(); ++i) {
        const CheckedInt size = CheckedInt(input[i]) + node.numbers[i] + node.more_numbers[i];
        if (!size.ok()) return absl::InvalidArgumentError("the padded size is too large");
        result.push_back(size.value());
      }
      return result;
    }
    case NodeType::StaticSlice: {
      ABSL_RETURN_IF_ERROR(CheckCount(node.numbers, input));
      ABSL_RETURN_IF_ERROR(CheckCount(node.more_numbers, input));
      for (int i = 0; i < input.size(); ++i) {
        const auto offset = static_cast<uint64_t>(node.numbers[i]);
        const auto size = static_cast<uint64_t>(node.more_numbers[i]);
        if (!RangeFits(offset, size, static_cast<uint64_t>(input[i]))) {
          return absl::InvalidArgumentError(absl::StrCat(
              size, " elements at ", offset, " of dimension ", i, " of ", FormatSizes(input)));
        }
      }
      return node.more_numbers;
    }
    case NodeType::StaticResizeBilinear2D:
      ABSL_RETURN_IF_ERROR(CheckRank(input, 4));
      return Sizes({input[0], node.numbers[0], node.numbers[1], input[3]});
    case NodeType::PReLU: {
      Sizes slope(sizes[1]->size(), 1);
      if (!slope.empty() && !input.empty()) slope.back() = input.back();
      if (slope.empty() || input.empty() || !(*sizes[1] == slope)) {
        return Expected("slopes", slope, *sizes[1]);
      }
      return input;
    }
    case NodeType::Concatenate2:
    case NodeType::Concatenate3:
    case NodeType::Concatenate4:
    case NodeType::Concatenate5:
      return ConcatenateSizes(node, sizes);
    case NodeType::Softmax:
      if (input.empty()) return absl::InvalidArgumentError("the input has no dimension");
      return input;
    default:  // element by element
      return input;
  }
}

uint64_t Product(absl::Span<const int64_t> sizes) {
  return static_cast<uint64_t>(NumElements(sizes).value_or(INT64_MAX));
}

}  // namespace

bool Broadcasts(NodeType type) {
  switch (type) {
    case NodeType::Add:
    case NodeType::Div:
    case NodeType::Minimum:
    case NodeType::Multiply:
    case NodeType::Subtract:
    case NodeType::Maximum:
      return true;
    default:
      return false;
  }
}

std::pair<Sizes, Sizes> CommonBounds(Sizes a, Sizes b) {
  for (int i = 1; i <= std::min(a.size(), b.size()); ++i) {
    int64_t &x = a[a.size() - i], &y = b[b.size() - i];
    if (x != 1 && y != 1) x = y = std::min(x, y);
  }
  return {std::move(a), std::move(b)};
}

absl::StatusOr<Sizes> BroadcastSizes(const Sizes& a, const Sizes& b) {
  Sizes result = a.size() >= b.size() ? a : b;
  for (int i = 1; i <= std::min(a.size(), b.size()); ++i) {
    const int64_t x = a[a.size() - i], y = b[b.size() - i];
    if (x != y && x != 1 && y != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("sizes ", FormatSizes(a), " and ", FormatSizes(b), " do not broadcast"));
    }
    result[result.size() - i] = x == 1 ? y : x;
  }
  return result;
}

absl::StatusOr<Sizes> OutputSizes(const Node& node, SizeList sizes) {
  ABSL_ASSIGN_OR_RETURN(Sizes result, Unchecked(node, sizes));
  const bool may_be_empty = std::any_of(sizes.begin(), sizes.end(), [](const Sizes* input) {
    return input != nullptr && NumElements(*input) == 0;
  });
  const int64_t least = may_be_empty ? 0 : 1;
  if (!NumElements(result).has_value() ||
      std::any_of(result.begin(), result.end(), [&](int64_t size) { return size < least; })) {
    return absl::InvalidArgumentError(absl::StrCat("the output's sizes are ", FormatSizes(result)));
  }
  return result;
}

uint64_t WorkOf(const Node& node, SizeList sizes, const Sizes& output) {
  uint64_t of_each = 1;
  uint64_t elements = Product(output);
  const Window& w = node.window;
  switch (node.type) {
    case NodeType::FullyConnected:
    case NodeType::BatchMatrixMultiply:
      of_each = static_cast<uint64_t>(sizes[0]->back());
      break;
    case NodeType::ConvTranspose2d:
      elements = Product(*sizes[0]);
      of_each = Product({w.kernel_height, w.kernel_width, w.group_outputs});
      break;
    case NodeType::Conv2d:
    case NodeType::DepthwiseConv2d:
      of_each = Product({w.kernel_height, w.kernel_width, w.group_inputs});
      break;
    case NodeType::AvgPooling2d:
    case NodeType::MaxPooling2d:
      of_each = Product({w.kernel_height, w.kernel_width});
      break;
    default:
      elements = std::max(elements, Product(*sizes[0]));
  }
  return CheckedMul(elements, of_each).value_or(UINT64_MAX);
}

}  // namespace belay::xnnpack
