// torchao's block-wise quantization with arbitrary block shapes, in the steps of torchao's
// definitions.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "exir/builder/op_shorthand.h"
#include "exir/decompositions/families.h"

namespace belay::exir {
namespace {

// A tensor split into blocks: the sizes in which separate dimensions index inside a block, these
// dimensions, and the sizes of a tensor with one element per block.
struct Blocks {
  std::vector<SymInt> sizes;
  std::vector<int64_t> inner;
  std::vector<SymInt> outer;
};
Blocks BlocksOf(OpBuilder& b, const OpCall& c) {
  const std::vector<SymInt> sizes = b.sizes(c["input"]), block = c.SymInts("block_size");
  Blocks blocks;
  if (b.ok() && block.size() != sizes.size()) {
    b.Invalid(absl::StrCat("block_size: expected ", sizes.size(), " sizes, got ", block.size()));
  }
  for (size_t d = 0; d < sizes.size() && b.ok(); ++d) {
    const auto add = [&](const SymInt& size, bool inner) {
      if (inner) blocks.inner.push_back(static_cast<int64_t>(blocks.sizes.size()));
      blocks.sizes.push_back(size);
      blocks.outer.push_back(inner ? SymInt(1) : size);
    };
    if (block[d] == SymInt(1) || block[d] == sizes[d]) {
      add(sizes[d], block[d] != SymInt(1));
      continue;
    }
    const std::optional<int64_t> size = sizes[d].AsInt(), part = block[d].AsInt();
    if (part.has_value() && *part > 1 && (!size.has_value() || *size % *part == 0)) {
      add(FloorDiv(sizes[d], block[d]), false);
      add(block[d], true);
      continue;
    }
    b.Invalid(absl::StrCat("block_size: expected a divisor of ", sizes[d].ToString(),
                           " at dimension ", d, ", got ", block[d].ToString()));
  }
  return blocks;
}

// quant_min and quant_max, or the limits of the dtype.
struct Limits {
  double min = 0, max = 0;
};
Limits LimitsOf(OpBuilder& b, const OpCall& c, DType dtype) {
  Limits all;
  switch (dtype) {
    case DType::kUint8:
      all = {0, 255};
      break;
    case DType::kInt8:
      all = {-128, 127};
      break;
    case DType::kInt16:
      all = {-32768, 32767};
      break;
    case DType::kInt32:
      all = {-2147483648.0, 2147483647.0};
      break;
    default:
      b.Unsupported(absl::StrCat("quantization to ", DTypeName(dtype)));
  }
  const Limits limits = {c.IsNone("quant_min") ? all.min : c.Double("quant_min"),
                         c.IsNone("quant_max") ? all.max : c.Double("quant_max")};
  if (limits.min < all.min || limits.max > all.max) {
    b.Invalid(absl::StrCat("quant_min and quant_max: expected limits that ", DTypeName(dtype),
                           " holds, got ", limits.min, " and ", limits.max));
  }
  return limits;
}

std::vector<Argument> Quantize(OpBuilder& b, const OpCall& c) {
  const Argument& input = c["input"];
  const DType dtype = c.DtypeOr("output_dtype", DType::kInt8);
  const Blocks blocks = BlocksOf(b, c);
  const Limits limits = LimitsOf(b, c, dtype);
  if (c.IsNone("zero_point")) b.Unsupported("quantize_affine without a zero point");
  if (!b.ok()) return {};
  const Argument scale = Reshape(b, c["scale"], blocks.outer);
  const Argument zero = Reshape(b, c["zero_point"], blocks.outer);
  const Argument scaled = Mul(b, Reshape(b, input, blocks.sizes), Unary(b, "reciprocal", scale));
  const Argument shifted = Add(b, Unary(b, "round", scaled), zero);
  return {Cast(b, Reshape(b, Clamp(b, shifted, limits.min, limits.max), b.sizes(input)), dtype)};
}

// quant_min and quant_max if they are a range within that of the byte dtype, else the latter. Nodes
// that dequantize do not clamp: the range only tells how few bits the elements have.
std::pair<int64_t, int64_t> RangeOf(const OpCall& c, DType dtype) {
  const int64_t least = dtype == DType::kInt8 ? -128 : 0, most = least + 255;
  const auto* low = c["quant_min"].get_if<int64_t>();
  const auto* high = c["quant_max"].get_if<int64_t>();
  if (low == nullptr || high == nullptr || *low < least || *high > most || *low > *high) {
    return {least, most};
  }
  return {*low, *high};
}

// Emits a single node that backends recognize and that is not constant-folded. Requires a block
// shape that such a node supports: bytes with one scale per row, or a matrix with groups along its
// rows. Each operation is exact or equal to that of the definition.
std::optional<Argument> DequantizeAtOnce(OpBuilder& b, const OpCall& c) {
  const Argument &input = c["input"], &scale = c["scale"];
  const DType dtype = b.dtype(input);
  if ((dtype != DType::kInt8 && dtype != DType::kUint8) || b.dtype(scale) != DType::kFloat32 ||
      c.IsNone("zero_point") || !IsIntegral(b.dtype(c["zero_point"]), /*include_bool=*/false)) {
    return std::nullopt;
  }
  std::vector<SymInt> sizes = b.sizes(input);
  const std::vector<SymInt> block = c.SymInts("block_size");
  if (sizes.empty()) return std::nullopt;
  const auto is_one = [](const SymInt& size) { return size == SymInt(1); };
  if (!std::all_of(block.begin(), block.end() - 1, is_one)) return std::nullopt;
  const SymInt size = sizes.back();
  const auto [low, high] = RangeOf(c, dtype);
  const bool whole_rows = block.back() == size;
  const std::optional<int64_t> group = block.back().AsInt();
  if (!whole_rows && (sizes.size() != 2 || !group.has_value() || *group < 2)) return std::nullopt;
  sizes.back() = whole_rows ? SymInt(1) : FloorDiv(size, block.back());
  const Argument zeros = Cast(b, Reshape(b, c["zero_point"], sizes), DType::kInt64);
  const Argument scales = Reshape(b, scale, sizes);
  if (whole_rows) {
    return b.Call("quantized_decomposed.dequantize_per_token.default",
                  {input, scales, zeros, low, high, dtype, DType::kFloat32});
  }
  return b.Call("quantized_decomposed.dequantize_per_channel_group.default",
                {input, scales, zeros, low, high, dtype, *group, DType::kFloat32});
}

std::vector<Argument> Dequantize(OpBuilder& b, const OpCall& c) {
  const Argument& input = c["input"];
  const DType dtype = c.DtypeOr("output_dtype", DType::kFloat32);
  const Blocks blocks = BlocksOf(b, c);
  if (!b.ok()) return {};
  if (dtype == DType::kFloat32) {
    if (std::optional<Argument> result = DequantizeAtOnce(b, c)) return {*std::move(result)};
  }
  Argument numbers = Cast(b, Reshape(b, input, blocks.sizes), dtype);
  if (!c.IsNone("zero_point")) {
    numbers = Sub(b, numbers, Cast(b, Reshape(b, c["zero_point"], blocks.outer), dtype));
  }
  numbers = Mul(b, numbers, Reshape(b, c["scale"], blocks.outer));
  return {Cast(b, Reshape(b, numbers, b.sizes(input)), dtype)};
}

// Smallest normal number of the dtype.
double SmallestNormal(DType dtype) {
  switch (dtype) {
    case DType::kFloat16:
      return 0x1p-14;
    case DType::kFloat64:
      return std::numeric_limits<double>::min();
    default:
      return std::numeric_limits<float>::min();
  }
}

std::vector<Argument> ChooseParameters(OpBuilder& b, const OpCall& c) {
  if (c.IsNone("input")) b.Unsupported("choose_qparams_affine without an input");
  if (!b.ok()) return {};
  const Argument& input = c["input"];
  const std::string mapping = c.String("mapping_type");
  const Blocks blocks = BlocksOf(b, c);
  const Limits limits = LimitsOf(b, c, c.DtypeOr("target_dtype", DType::kInt8));
  const bool keep = c.Bool("keepdim");
  if (!b.ok()) return {};
  const DType dtype = b.dtype(input);
  const double eps = c.IsNone("eps") ? SmallestNormal(dtype) : c.Double("eps");
  const Argument cut = Reshape(b, input, blocks.sizes);
  // The range always includes 0. Without dimensions to reduce, each element is a block.
  const auto fold = [&](std::string_view op, std::string_view with_zero) {
    const Argument folded = blocks.inner.empty() ? cut : b.Call(op, {cut, blocks.inner, keep});
    return b.Call(with_zero, {folded, b.Call("aten.full_like.default", {folded, 0})});
  };
  const Argument lowest = fold("aten.amin.default", "aten.minimum.default");
  const Argument highest = fold("aten.amax.default", "aten.maximum.default");
  Argument scale, zero;
  if (mapping == "ASYMMETRIC") {
    scale = Clamp(b, Div(b, Sub(b, highest, lowest), limits.max - limits.min), eps, Argument());
    const Argument steps = Unary(b, "round", Div(b, lowest, scale));
    zero = Clamp(b, NumberMinus(b, limits.min, steps), limits.min, limits.max);
  } else if (mapping == "SYMMETRIC" || mapping == "SYMMETRIC_NO_CLIPPING_ERR") {
    if (mapping == "SYMMETRIC") {
      const Argument largest = b.Call("aten.maximum.default", {Unary(b, "neg", lowest), highest});
      scale = Div(b, largest, (limits.max - limits.min) / 2);
    } else {
      const Argument below = Div(b, lowest, limits.min), above = Div(b, highest, limits.max);
      scale = Where(b, Binary(b, "gt", below, above), below, above);
    }
    zero = b.Call("aten.full_like.default",
                  {scale, static_cast<int64_t>((limits.max + limits.min + 1) / 2)});
    scale = Clamp(b, scale, eps, Argument());
  } else {
    b.Invalid(absl::StrCat(
        "mapping_type: expected SYMMETRIC, SYMMETRIC_NO_CLIPPING_ERR or ASYMMETRIC, got ",
        mapping));
    return {};
  }
  if (keep) {
    const std::vector<SymInt> sizes = b.sizes(input), block = c.SymInts("block_size");
    std::vector<SymInt> counts;
    for (size_t d = 0; d < sizes.size(); ++d) counts.push_back(FloorDiv(sizes[d], block[d]));
    scale = Reshape(b, scale, counts);
    zero = Reshape(b, zero, counts);
  }
  const DType zero_dtype =
      c.DtypeOr("zero_point_dtype", mapping == "ASYMMETRIC" ? DType::kInt32 : b.dtype(zero));
  return {Cast(b, scale, c.DtypeOr("scale_dtype", dtype)), Cast(b, zero, zero_dtype)};
}

constexpr Decomposition kDecompositions[] = {
    {"torchao.choose_qparams_affine.default", ChooseParameters},
    {"torchao.dequantize_affine.default", Dequantize},
    {"torchao.quantize_affine.default", Quantize},
};

}  // namespace

absl::Span<const Decomposition> AffineQuantizationDecompositions() { return kDecompositions; }

}  // namespace belay::exir
