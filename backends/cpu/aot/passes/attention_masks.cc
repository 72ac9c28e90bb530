#include "backends/cpu/aot/passes/attention_masks.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "backends/cpu/aot/passes/float_casts.h"
#include "runtime/core/checked_math.h"

namespace belay::cpu {

using exir::SymInt;
using exir::TensorMeta;
using exir::ValueId;
namespace m = exir::match;

namespace {

// The largest element of a causal mask at keys that are not visible: that of bfloat16's lowest
// value and below. Added to a score of any program that does not overflow, it gives a weight of 0,
// since each query sees a key.
constexpr double kLow = -0x1.fep127;

}  // namespace

bool HasSameLastTwo(const std::vector<SymInt>& a, const std::vector<SymInt>& b) {
  return a.size() >= 2 && b.size() >= 2 && std::equal(a.end() - 2, a.end(), b.end() - 2);
}

std::optional<double> AttentionMasks::Fill(ValueId value) const {
  double fill = 0;
  const m::Pattern filled = m::OneOf({m::Op({"full", "full_like"}, m::Any(), m::Number(&fill)),
                                      m::Op("scalar_tensor", m::Number(&fill))});
  if (matcher_.Match(filled, value).has_value()) return fill;
  return constants_.Number(value);
}

AttentionMask AttentionMasks::ConditionOf(AttentionMask mask) const {
  if (mask.is_condition) return mask;
  ValueId value = mask.value, condition, self, other;
  while (const std::optional<ValueId> from = ConvertedFloat(graph_, value)) value = *from;
  const m::Pattern where = m::Op("where", m::Value(&condition), m::Value(&self), m::Value(&other));
  if (!matcher_.Match(where, value).has_value()) return mask;
  const std::optional<double> if_true = Fill(self), if_false = Fill(other);
  if (!if_true.has_value() || !if_false.has_value() || (*if_true != 0 && *if_false != 0) ||
      graph_.MetaOf(condition).dtype != DType::kBool) {
    return mask;
  }
  mask.value = condition;
  mask.is_condition = true;
  mask.visible = *if_true == 0;
  mask.fill = mask.visible ? *if_false : *if_true;
  return mask;
}

// Returns 1 for a value that equals the index of the last dimension, 2 for that of the one before
// it, and 0 for others.
int AttentionMasks::IndexOf(ValueId value) const {
  const m::Pattern indices =
      m::Op("aten.arange.start_step", m::Number(0.0), m::Any(), m::Number(1));
  int dim = 0;
  for (;;) {
    const TensorMeta& meta = graph_.MetaOf(value);
    int wide = 0;
    for (int d = 0; d < meta.rank(); ++d) {
      if (meta.sizes[d] == SymInt(1)) continue;
      if (wide != 0) return 0;
      wide = meta.rank() - d;
    }
    if (dim == 0) dim = wide;
    if (wide == 0 || dim > 2) return 0;
    if (matcher_.Match(indices, value).has_value()) return dim;
    const std::optional<ValueId> from = matcher_.OperandOf(ReshapeOps(), value);
    if (!from.has_value()) break;
    value = *from;
  }
  const std::optional<ConstantView> view = constants_.Find(value);
  if (!view.has_value()) return 0;
  const std::optional<std::vector<double>> elements = view->Elements();
  if (!elements.has_value()) return 0;
  for (size_t i = 0; i < elements->size(); ++i) {
    if ((*elements)[i] != static_cast<double>(i)) return 0;
  }
  return dim;
}

// Whether element [.., i, j] of the comparison is `visible` if and only if j <= i.
bool AttentionMasks::IsCausalComparison(ValueId value, bool visible) const {
  struct Comparison {
    const char* op;
    bool visible;  // its value if j <= i, with the operands below
    int left, right;
  };
  constexpr int kColumn = 1, kRow = 2;
  for (const Comparison& comparison :
       {Comparison{"le", true, kColumn, kRow}, Comparison{"ge", true, kRow, kColumn},
        Comparison{"gt", false, kColumn, kRow}, Comparison{"lt", false, kRow, kColumn}}) {
    ValueId left, right;
    if (comparison.visible == visible &&
        matcher_.Match(m::Op(comparison.op, m::Value(&left), m::Value(&right)), value)) {
      return IndexOf(left) == comparison.left && IndexOf(right) == comparison.right;
    }
  }
  return false;
}

bool AttentionMasks::IsCausalConstant(ValueId value, const AttentionMask& mask,
                                      bool visible) const {
  const std::vector<SymInt>& sizes = graph_.MetaOf(value).sizes;
  const std::optional<ConstantView> view = constants_.Find(value);
  if (!view.has_value()) return false;
  const std::optional<std::vector<double>> elements = view->Elements();
  const std::optional<int64_t> queries = sizes[sizes.size() - 2].AsInt();
  const std::optional<int64_t> keys = sizes.back().AsInt();
  if (!elements.has_value() || !queries.has_value() || !keys.has_value()) return false;
  for (size_t at = 0; at < elements->size(); ++at) {
    const auto i = static_cast<int64_t>(at) / *keys % *queries;
    const auto j = static_cast<int64_t>(at) % *keys;
    const double x = (*elements)[at];
    const bool is_visible = mask.is_condition ? (x != 0) == visible : x == 0;
    if (is_visible != (j <= i) || (!mask.is_condition && !is_visible && !(x <= kLow))) {
      return false;
    }
  }
  return true;
}

bool AttentionMasks::IsCausal(const AttentionMask& given) const {
  const AttentionMask mask = ConditionOf(given);
  ValueId value = mask.value;
  bool visible = mask.visible;
  if (mask.is_condition && mask.fill > kLow) return false;
  for (;;) {
    std::optional<ValueId> from = matcher_.OperandOf(ReshapeOps(), value);
    if (from.has_value() &&
        !HasSameLastTwo(graph_.MetaOf(*from).sizes, graph_.MetaOf(value).sizes)) {
      return false;
    }
    if (!from.has_value()) from = matcher_.OperandOf("expand_copy", value);
    if (!from.has_value() && mask.is_condition) {
      from = matcher_.OperandOf("logical_not", value);
      if (from.has_value()) visible = !visible;
    }
    if (!from.has_value()) break;
    value = *from;
  }
  if (!HasSameLastTwo(graph_.MetaOf(value).sizes, mask.sizes)) return false;
  return (mask.is_condition && IsCausalComparison(value, visible)) ||
         IsCausalConstant(value, mask, visible);
}

std::optional<MaskShape> AttentionMasks::ShapeOf(const AttentionMask& mask,
                                                 const std::vector<SymInt>& sizes) const {
  std::vector<SymInt> from = graph_.MetaOf(mask.value).sizes;
  if (mask.sizes == sizes) return MaskShape();
  // Only dimensions that the mask has matter, if those of both shapes are equal.
  if (from.size() <= 2 ||
      (from.size() <= sizes.size() &&
       std::equal(mask.sizes.end() - static_cast<ptrdiff_t>(from.size()), mask.sizes.end(),
                  sizes.end() - static_cast<ptrdiff_t>(from.size())))) {
    return MaskShape();
  }
  const auto known = [](const std::vector<SymInt>& of) -> std::optional<std::vector<int64_t>> {
    std::vector<int64_t> out;
    for (const SymInt& size : of) {
      const std::optional<int64_t> number = size.AsInt();
      if (!number.has_value()) return std::nullopt;
      out.push_back(*number);
    }
    return out;
  };
  from.insert(from.begin(), mask.sizes.size() - from.size(), SymInt(1));
  const auto own = known(from), full = known(mask.sizes), want = known(sizes);
  if (!own.has_value() || !full.has_value() || !want.has_value()) return std::nullopt;
  // Leading dimensions [i, i2) of the mask's scores have the elements of [j, j2) of the softmax's.
  MaskShape shape;
  shape.expanded = *own;
  const size_t rows = full->size() - 2, want_rows = want->size() - 2;
  size_t i = 0, j = 0;
  while (i < rows || j < want_rows) {
    size_t i2 = i, j2 = j;
    int64_t a = 1, b = 1;
    if (i2 < rows) a = (*full)[i2++];
    if (j2 < want_rows) b = (*want)[j2++];
    while (a != b) {
      CheckedInt next;
      if (a < b && i2 < rows) {
        next = CheckedInt(a) * (*full)[i2++];
        if (!next.ok()) return std::nullopt;
        a = next.value();
      } else if (b < a && j2 < want_rows) {
        next = CheckedInt(b) * (*want)[j2++];
        if (!next.ok()) return std::nullopt;
        b = next.value();
      } else {
        return std::nullopt;
      }
    }
    const bool broadcasts = std::all_of(own->begin() + static_cast<ptrdiff_t>(i),
                                        own->begin() + static_cast<ptrdiff_t>(i2),
                                        [](int64_t size) { return size == 1; });
    for (size_t d = i; d < i2 && !broadcasts; ++d) shape.expanded[d] = (*full)[d];
    for (size_t d = j; d < j2; ++d) shape.reshaped.push_back(broadcasts ? 1 : (*want)[d]);
    i = i2;
    j = j2;
  }
  shape.reshaped.insert(shape.reshaped.end(), own->end() - 2, own->end());
  if (shape.expanded == *own) shape.expanded.clear();
  return shape;
}

}  // namespace belay::cpu
