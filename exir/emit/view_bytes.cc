#include "exir/emit/view_bytes.h"

#include <algorithm>
#include <utility>

#include "exir/emit/method_facts.h"
#include "runtime/core/dtype.h"
#include "runtime/core/sizes.h"
#include "runtime/schema/operator_facts.h"

namespace belay::exir {
namespace {

// Memory layout of a tensor, strides in bytes.
struct ByteLayout {
  uint64_t element = 0;
  uint32_t dtype = 0;
  std::vector<int64_t> sizes, strides;

  int rank() const { return static_cast<int>(sizes.size()); }
  int64_t numel() const {
    int64_t n = 1;
    for (int64_t size : sizes) n *= size;
    return n;
  }
  // (size, stride) of the dimensions with sizes above 1.
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

std::optional<ByteLayout> LayoutOf(const schema::Method& method, uint32_t value) {
  const schema::Value& v = method.values(static_cast<int>(value));
  if (!v.has_tensor() || v.tensor().dynamic_dims() != 0) return std::nullopt;
  const schema::Tensor& tensor = v.tensor();
  ByteLayout layout;
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

std::optional<int64_t> IntOf(const schema::Value& value) {
  if (value.kind_case() != schema::Value::kInt) return std::nullopt;
  return value.int_();
}

std::optional<int> WrapDim(std::optional<int64_t> dim, int rank) {
  if (!dim.has_value() || *dim < -rank || *dim >= rank) return std::nullopt;
  return static_cast<int>(*dim < 0 ? *dim + rank : *dim);
}

// Whether `to` has the same elements in the same memory order, with the sizes of `from` up to ones.
bool SameExtents(const ByteLayout& from, const ByteLayout& to) {
  return from.dtype == to.dtype && from.Extents() == to.Extents();
}

bool IsReshape(const ByteLayout& from, const ByteLayout& to) {
  if (from.dtype != to.dtype || from.numel() != to.numel()) return false;
  return (from.IsRowMajor() && to.IsRowMajor()) || from.Extents() == to.Extents();
}

// Permutes the dimensions of `from` as the call does: `dims`, `dim0` and `dim1` exchanged, or
// reversed.
std::optional<ByteLayout> Permuted(const KernelCallView& call, const ByteLayout& from) {
  std::vector<int> order(from.rank());
  for (int d = 0; d < from.rank(); ++d) order[d] = d;
  if (const schema::Value* list = call.argument("dims")) {
    if (!list->has_list() || list->list().elements_size() != from.rank()) return std::nullopt;
    for (int d = 0; d < from.rank(); ++d) {
      const uint32_t element = list->list().elements(d);
      const std::optional<int> dim =
          WrapDim(IntOf(call.method.values(static_cast<int>(element))), from.rank());
      if (!dim.has_value()) return std::nullopt;
      order[d] = *dim;
    }
  } else if (call.argument("dim0") != nullptr) {
    const std::optional<int> a = WrapDim(call.Int("dim0"), from.rank());
    const std::optional<int> b = WrapDim(call.Int("dim1"), from.rank());
    if (!a.has_value() || !b.has_value()) return std::nullopt;
    std::swap(order[*a], order[*b]);
  } else {
    std::reverse(order.begin(), order.end());
  }
  ByteLayout result = from;
  for (int d = 0; d < from.rank(); ++d) {
    result.sizes[d] = from.sizes[order[d]];
    result.strides[d] = from.strides[order[d]];
  }
  return result;
}

// Slice [start, start + length) of dimension `dim`.
struct Part {
  int dim;
  int64_t start, length;
  bool drop_dim = false;
};

// Slices of `from` for a list of results: of a given length, or single rows.
std::optional<std::vector<Part>> AllParts(const KernelCallView& call, const ByteLayout& from,
                                          const std::vector<ByteLayout>& results) {
  const std::optional<int> dim = WrapDim(call.Int("dim"), from.rank());
  if (!dim.has_value()) return std::nullopt;
  const bool rows =
      call.argument("split_size") == nullptr && call.argument("split_sizes") == nullptr;
  std::vector<Part> parts;
  int64_t start = 0;
  for (const ByteLayout& result : results) {
    const int64_t length = rows ? 1 : result.rank() > *dim ? result.sizes[*dim] : 0;
    parts.push_back({*dim, start, length, rows});
    start += length;
  }
  if (start != from.sizes[*dim]) return std::nullopt;
  return parts;
}

// Slice of `from` for a single result: from `start` with step 1 (if there is a `step`), or the row
// `index`.
std::optional<std::vector<Part>> OnePart(const KernelCallView& call, const ByteLayout& from,
                                         const std::vector<ByteLayout>& results) {
  const std::optional<int> dim = WrapDim(call.Int("dim"), from.rank());
  if (!dim.has_value() || results.size() != 1) return std::nullopt;
  const bool row = call.argument("index") != nullptr, steps = call.argument("step") != nullptr;
  const int64_t size = from.sizes[*dim];
  std::optional<int64_t> start = call.Int(row ? "index" : "start");
  if (const schema::Value* given = call.argument("start"); steps && given->has_none()) start = 0;
  if (!start.has_value()) return std::nullopt;
  if (*start < 0) *start += size;
  if (steps) {
    if (call.Int("step") != 1) return std::nullopt;
    start = std::clamp<int64_t>(*start, 0, size);
  }
  const int64_t length = row ? 1 : results[0].rank() > *dim ? results[0].sizes[*dim] : 0;
  if (*start < 0 || length < 0 || *start > size - length) return std::nullopt;
  return std::vector<Part>{{*dim, *start, length, row}};
}

std::optional<std::vector<Part>> Parts(const KernelCallView& call, const ByteLayout& from,
                                       const std::vector<ByteLayout>& results) {
  if (call.has_trait(kSplitsBytes)) return AllParts(call, from, results);
  if (call.has_trait(kCutsBytes)) return OnePart(call, from, results);
  return std::nullopt;
}

}  // namespace

const schema::Value* KernelCallView::argument(std::string_view name) const {
  const std::optional<int> index = op == nullptr ? std::nullopt : op->ArgumentIndex(name);
  if (!index.has_value() || *index >= call.arguments_size()) return nullptr;
  return &method.values(static_cast<int>(call.arguments(*index)));
}

std::optional<int64_t> KernelCallView::Int(std::string_view name) const {
  const schema::Value* value = argument(name);
  return value == nullptr ? std::nullopt : IntOf(*value);
}

std::optional<std::vector<ViewPiece>> ViewOfArgument(const KernelCallView& view) {
  const schema::Method& method = view.method;
  const schema::KernelCall& call = view.call;
  if (call.arguments_size() == 0 || call.outputs_size() != 1) return std::nullopt;
  const std::optional<ByteLayout> from = LayoutOf(method, call.arguments(0));
  if (!from.has_value()) return std::nullopt;
  std::vector<uint32_t> values;
  std::vector<ByteLayout> results;
  bool known = true;
  ForEachElement(method, call.outputs(0), [&](uint32_t v) {
    const std::optional<ByteLayout> layout = LayoutOf(method, v);
    known = known && layout.has_value();
    values.push_back(v);
    if (layout.has_value()) results.push_back(*layout);
  });
  if (!known || results.empty()) return std::nullopt;

  if (const auto parts = Parts(view, *from, results)) {
    std::vector<ViewPiece> pieces;
    for (size_t k = 0; k < results.size(); ++k) {
      const Part& part = (*parts)[k];
      ByteLayout cut = *from;
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
  const ByteLayout& to = results[0];
  bool same = false;
  if (view.has_trait(kReshapesBytes)) {
    same = IsReshape(*from, to);
  } else if (view.has_trait(kReinterpretsBytes)) {
    same = from->IsRowMajor() && to.IsRowMajor() &&
           static_cast<uint64_t>(from->numel()) * from->element ==
               static_cast<uint64_t>(to.numel()) * to.element;
  } else if (view.has_trait(kKeepsBytes)) {
    same = from->sizes == to.sizes && SameExtents(*from, to);
  } else if (view.has_trait(kPermutesBytes)) {
    const std::optional<ByteLayout> permuted = Permuted(view, *from);
    same = permuted.has_value() && permuted->sizes == to.sizes && SameExtents(*permuted, to);
  }
  if (!same) return std::nullopt;
  return std::vector<ViewPiece>{{values[0], 0, false}};
}

bool HasBytesOfArgument(const KernelCallView& view) {
  const schema::Method& method = view.method;
  const schema::KernelCall& call = view.call;
  if (view.op == nullptr || call.arguments_size() == 0 || call.outputs_size() != 1 ||
      FactsOf(view.op->name()).output_over != OutputOverArgument::kSameBytes) {
    return false;
  }
  const schema::Value& from = method.values(static_cast<int>(call.arguments(0)));
  const schema::Value& to = method.values(static_cast<int>(call.outputs(0)));
  if (!from.has_tensor() || !to.has_tensor()) return false;
  const schema::Tensor &a = from.tensor(), &b = to.tensor();
  if (a.dtype() != b.dtype() || TensorBytes(a) != TensorBytes(b)) return false;
  if (view.has_trait(kKeepsBytes)) return a.dim_order() == b.dim_order();
  // Sizes of 1 are unknown here, so that only row-major tensors qualify.
  return view.has_trait(kReshapesBytes) &&
         std::is_sorted(a.dim_order().begin(), a.dim_order().end()) &&
         std::is_sorted(b.dim_order().begin(), b.dim_order().end());
}

std::optional<std::vector<ViewPiece>> JoinedOperands(const KernelCallView& view) {
  const schema::Method& method = view.method;
  const schema::KernelCall& call = view.call;
  if (!view.has_trait(kJoinsBytes) || call.arguments_size() == 0 || call.outputs_size() != 1) {
    return std::nullopt;
  }
  const std::optional<ByteLayout> to = LayoutOf(method, call.outputs(0));
  const schema::Value& list = method.values(static_cast<int>(call.arguments(0)));
  if (!to.has_value() || !list.has_list()) return std::nullopt;
  const std::optional<int> dim = WrapDim(view.Int("dim"), to->rank());
  if (!dim.has_value()) return std::nullopt;
  std::vector<ViewPiece> pieces;
  int64_t start = 0;
  for (uint32_t v : list.list().elements()) {
    const std::optional<ByteLayout> operand = LayoutOf(method, v);
    if (!operand.has_value() || operand->rank() != to->rank()) return std::nullopt;
    ByteLayout part = *to;
    part.sizes[*dim] = operand->sizes[*dim];
    if (part.sizes != operand->sizes || !SameExtents(part, *operand)) return std::nullopt;
    pieces.push_back({v, static_cast<uint64_t>(start * to->strides[*dim]), true});
    start += operand->sizes[*dim];
  }
  if (start != to->sizes[*dim]) return std::nullopt;
  return pieces;
}

}  // namespace belay::exir
