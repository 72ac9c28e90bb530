#include "exir/emit/view_bytes.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "exir/emit/method_facts.h"
#include "runtime/core/dtype.h"
#include "runtime/core/sizes.h"

namespace belay::exir {
namespace {

// A tensor as elements in memory, strides in bytes.
struct Layout {
  uint64_t element = 0;
  uint32_t dtype = 0;
  std::vector<int64_t> sizes, strides;

  int rank() const { return static_cast<int>(sizes.size()); }
  int64_t numel() const {
    int64_t n = 1;
    for (int64_t size : sizes) n *= size;
    return n;
  }
  // (size, stride) of the dimensions that are longer than 1.
  std::vector<std::pair<int64_t, int64_t>> Extents() const {
    std::vector<std::pair<int64_t, int64_t>> extents;
    for (int d = 0; d < rank(); ++d) {
      if (sizes[d] != 1) extents.emplace_back(sizes[d], strides[d]);
    }
    return extents;
  }
  bool IsRowMajor() const {
    int64_t expected = static_cast<int64_t>(element);
    for (int d = rank() - 1; d >= 0; --d) {
      if (sizes[d] == 1) continue;
      if (strides[d] != expected) return false;
      expected *= sizes[d];
    }
    return true;
  }
};

std::optional<Layout> LayoutOf(const schema::Method& method, uint32_t value) {
  const schema::Value& v = method.values(static_cast<int>(value));
  if (!v.has_tensor() || v.tensor().dynamic_dims() != 0) return std::nullopt;
  const schema::Tensor& tensor = v.tensor();
  Layout layout;
  layout.dtype = tensor.dtype();
  layout.element = DTypeSize(static_cast<DType>(tensor.dtype()));
  layout.sizes.assign(tensor.sizes().begin(), tensor.sizes().end());
  layout.strides.resize(layout.sizes.size());
  int64_t stride = static_cast<int64_t>(layout.element);
  for (size_t k = tensor.dim_order().size(); k-- > 0;) {
    const size_t d = static_cast<unsigned char>(tensor.dim_order()[k]);
    layout.strides[d] = stride;
    stride *= layout.sizes[d];
  }
  if (layout.numel() == 0) return std::nullopt;
  return layout;
}

std::optional<int64_t> IntOf(const schema::Method& method, uint32_t value) {
  const schema::Value& v = method.values(static_cast<int>(value));
  if (v.kind_case() != schema::Value::kInt) return std::nullopt;
  return v.int_();
}

std::optional<int> DimOf(const schema::Method& method, const schema::KernelCall& call, int argument,
                         int rank) {
  if (argument >= call.arguments_size()) return std::nullopt;
  const std::optional<int64_t> dim = IntOf(method, call.arguments(argument));
  if (!dim.has_value() || *dim < -rank || *dim >= rank) return std::nullopt;
  return static_cast<int>(*dim < 0 ? *dim + rank : *dim);
}

constexpr std::string_view kReshapes[] = {
    "aten._reshape_alias_copy.default", "aten._unsafe_view.default",
    "aten.expand_copy.default",         "aten.reshape.default",
    "aten.squeeze_copy.default",        "aten.squeeze_copy.dim",
    "aten.squeeze_copy.dims",           "aten.unsqueeze_copy.default",
    "aten.view_copy.default",
};
// May change the dtype: the bytes stay.
constexpr std::string_view kReinterpretations[] = {
    "aten.view_as_complex_copy.default",
    "aten.view_as_real_copy.default",
    "aten.view_copy.dtype",
};
constexpr std::string_view kCopies[] = {
    "aten.alias_copy.default",
    "aten.clone.default",
    "aten.detach_copy.default",
    "aten.lift_fresh_copy.default",
    "dim_order_ops._clone_dim_order.default",
    "dim_order_ops._to_dim_order_copy.default",
};

template <size_t kSize>
bool IsOneOf(std::string_view op, const std::string_view (&names)[kSize]) {
  return std::find(std::begin(names), std::end(names), op) != std::end(names);
}

// The same elements in the same order of memory: `to` has the sizes of `from`, up to ones.
bool SameExtents(const Layout& from, const Layout& to) {
  return from.dtype == to.dtype && from.Extents() == to.Extents();
}

bool IsReshape(const Layout& from, const Layout& to) {
  if (from.dtype != to.dtype || from.numel() != to.numel()) return false;
  return (from.IsRowMajor() && to.IsRowMajor()) || from.Extents() == to.Extents();
}

// `from` with its dimensions in another order.
std::optional<Layout> Permuted(const schema::Method& method, const schema::KernelCall& call,
                               std::string_view op, const Layout& from) {
  std::vector<int> order(from.rank());
  for (int d = 0; d < from.rank(); ++d) order[d] = d;
  if (op == "aten.permute_copy.default") {
    if (call.arguments_size() < 2) return std::nullopt;
    const schema::Value& list = method.values(static_cast<int>(call.arguments(1)));
    if (!list.has_list() || list.list().elements_size() != from.rank()) return std::nullopt;
    for (int d = 0; d < from.rank(); ++d) {
      const std::optional<int64_t> dim = IntOf(method, list.list().elements(d));
      if (!dim.has_value() || *dim < -from.rank() || *dim >= from.rank()) return std::nullopt;
      order[d] = static_cast<int>(*dim < 0 ? *dim + from.rank() : *dim);
    }
  } else if (op == "aten.transpose_copy.int") {
    const std::optional<int> a = DimOf(method, call, 1, from.rank());
    const std::optional<int> b = DimOf(method, call, 2, from.rank());
    if (!a.has_value() || !b.has_value()) return std::nullopt;
    std::swap(order[*a], order[*b]);
  } else if (op == "aten.t_copy.default") {
    std::reverse(order.begin(), order.end());
  } else {
    return std::nullopt;
  }
  Layout result = from;
  for (int d = 0; d < from.rank(); ++d) {
    result.sizes[d] = from.sizes[order[d]];
    result.strides[d] = from.strides[order[d]];
  }
  return result;
}

// Part [start, start + length) of dimension `dim`.
struct Part {
  int dim;
  int64_t start, length;
  bool drop_dim = false;
};

std::optional<std::vector<Part>> Parts(const schema::Method& method, const schema::KernelCall& call,
                                       std::string_view op, const Layout& from,
                                       const std::vector<Layout>& results) {
  const bool is_slice = op == "aten.slice_copy.Tensor", is_select = op == "aten.select_copy.int",
             is_narrow = op == "aten.narrow_copy.default";
  const bool is_split =
      op == "aten.split_copy.Tensor" || op == "aten.split_with_sizes_copy.default";
  const bool is_unbind = op == "aten.unbind_copy.int";
  if (!is_slice && !is_select && !is_narrow && !is_split && !is_unbind) return std::nullopt;
  const std::optional<int> dim = DimOf(method, call, is_split ? 2 : 1, from.rank());
  if (!dim.has_value()) return std::nullopt;
  const int64_t size = from.sizes[*dim];
  std::vector<Part> parts;
  if (is_split || is_unbind) {
    int64_t start = 0;
    for (const Layout& result : results) {
      const int64_t length = is_unbind ? 1 : result.rank() > *dim ? result.sizes[*dim] : 0;
      parts.push_back({*dim, start, length, is_unbind});
      start += length;
    }
    if (start != size) return std::nullopt;
    return parts;
  }
  if (call.arguments_size() < 3 || results.size() != 1) return std::nullopt;
  const schema::Value& given = method.values(static_cast<int>(call.arguments(2)));
  std::optional<int64_t> start = IntOf(method, call.arguments(2));
  if (is_slice && given.has_none()) start = 0;
  if (!start.has_value()) return std::nullopt;
  if (*start < 0) *start += size;
  if (is_slice) {
    if (call.arguments_size() < 5 || IntOf(method, call.arguments(4)) != 1) return std::nullopt;
    start = std::clamp<int64_t>(*start, 0, size);
  }
  const int64_t length = is_select ? 1 : results[0].rank() > *dim ? results[0].sizes[*dim] : 0;
  if (*start < 0 || length < 0 || *start + length > size) return std::nullopt;
  parts.push_back({*dim, *start, length, is_select});
  return parts;
}

}  // namespace

std::optional<std::vector<ViewPiece>> ViewOfArgument(const schema::Method& method,
                                                     const schema::KernelCall& call) {
  if (call.arguments_size() == 0 || call.outputs_size() != 1) return std::nullopt;
  const std::string_view op = method.operators(static_cast<int>(call.operator_()));
  const std::optional<Layout> from = LayoutOf(method, call.arguments(0));
  if (!from.has_value()) return std::nullopt;
  std::vector<uint32_t> values;
  std::vector<Layout> results;
  bool known = true;
  ForEachElement(method, call.outputs(0), [&](uint32_t v) {
    const std::optional<Layout> layout = LayoutOf(method, v);
    known = known && layout.has_value();
    values.push_back(v);
    if (layout.has_value()) results.push_back(*layout);
  });
  if (!known || results.empty()) return std::nullopt;

  if (const auto parts = Parts(method, call, op, *from, results)) {
    std::vector<ViewPiece> pieces;
    for (size_t k = 0; k < results.size(); ++k) {
      const Part& part = (*parts)[k];
      Layout cut = *from;
      cut.sizes[part.dim] = part.length;
      if (part.drop_dim) {
        cut.sizes.erase(cut.sizes.begin() + part.dim);
        cut.strides.erase(cut.strides.begin() + part.dim);
      }
      if (cut.sizes != results[k].sizes || !SameExtents(cut, results[k])) return std::nullopt;
      pieces.push_back(
          {values[k], static_cast<uint64_t>(part.start * from->strides[part.dim]), true});
    }
    return pieces;
  }
  if (results.size() != 1) return std::nullopt;
  const Layout& to = results[0];
  bool same = false;
  if (IsOneOf(op, kReshapes)) {
    same = IsReshape(*from, to);
  } else if (IsOneOf(op, kReinterpretations)) {
    same = from->IsRowMajor() && to.IsRowMajor() &&
           static_cast<uint64_t>(from->numel()) * from->element ==
               static_cast<uint64_t>(to.numel()) * to.element;
  } else if (IsOneOf(op, kCopies)) {
    same = from->sizes == to.sizes && SameExtents(*from, to);
  } else if (const auto permuted = Permuted(method, call, op, *from)) {
    same = permuted->sizes == to.sizes && SameExtents(*permuted, to);
  }
  if (!same) return std::nullopt;
  return std::vector<ViewPiece>{{values[0], 0, false}};
}

bool HasBytesOfArgument(const schema::Method& method, const schema::KernelCall& call) {
  if (call.arguments_size() == 0 || call.outputs_size() != 1) return false;
  const schema::Value& from = method.values(static_cast<int>(call.arguments(0)));
  const schema::Value& to = method.values(static_cast<int>(call.outputs(0)));
  if (!from.has_tensor() || !to.has_tensor()) return false;
  const schema::Tensor &a = from.tensor(), &b = to.tensor();
  if (a.dtype() != b.dtype() || TensorBytes(a) != TensorBytes(b)) return false;
  const std::string_view op = method.operators(static_cast<int>(call.operator_()));
  if (IsOneOf(op, kCopies)) return a.dim_order() == b.dim_order();
  // Sizes of 1 are not known here, so that only tensors in row-major order of all dimensions count.
  return IsOneOf(op, kReshapes) && op != "aten.expand_copy.default" &&
         std::is_sorted(a.dim_order().begin(), a.dim_order().end()) &&
         std::is_sorted(b.dim_order().begin(), b.dim_order().end());
}

std::optional<std::vector<ViewPiece>> JoinedOperands(const schema::Method& method,
                                                     const schema::KernelCall& call) {
  const std::string_view op = method.operators(static_cast<int>(call.operator_()));
  if (op != "aten.cat.default" || call.arguments_size() != 2 || call.outputs_size() != 1) {
    return std::nullopt;
  }
  const std::optional<Layout> to = LayoutOf(method, call.outputs(0));
  const schema::Value& list = method.values(static_cast<int>(call.arguments(0)));
  if (!to.has_value() || !list.has_list()) return std::nullopt;
  const std::optional<int> dim = DimOf(method, call, 1, to->rank());
  if (!dim.has_value()) return std::nullopt;
  std::vector<ViewPiece> pieces;
  int64_t start = 0;
  for (uint32_t v : list.list().elements()) {
    const std::optional<Layout> operand = LayoutOf(method, v);
    if (!operand.has_value() || operand->rank() != to->rank()) return std::nullopt;
    Layout part = *to;
    part.sizes[*dim] = operand->sizes[*dim];
    if (part.sizes != operand->sizes || !SameExtents(part, *operand)) return std::nullopt;
    pieces.push_back({v, static_cast<uint64_t>(start * to->strides[*dim]), true});
    start += operand->sizes[*dim];
  }
  if (start != to->sizes[*dim]) return std::nullopt;
  return pieces;
}

}  // namespace belay::exir
