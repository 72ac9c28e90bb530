#include "backends/cpu/aot/constant_view.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "absl/container/btree_set.h"
#include "runtime/core/element.h"

namespace belay::cpu {
namespace {

using exir::ConstantTensor;
using exir::Node;
using exir::SymInt;
using exir::TensorMeta;

enum class Kind : uint8_t { kSame, kReshape, kPermute, kTranspose, kExpand };

std::optional<int> Dim(const exir::Argument& argument, int rank) {
  const int64_t* dim = argument.get_if<int64_t>();
  if (dim == nullptr || *dim < -rank || *dim >= rank) return std::nullopt;
  return static_cast<int>(*dim < 0 ? *dim + rank : *dim);
}

bool Permute(const Node& node, ConstantView& view) {
  const auto* dims = node.argument("dims").get_if<exir::Argument::List>();
  if (dims == nullptr || static_cast<int>(dims->size()) != view.rank()) return false;
  ConstantView permuted = view;
  for (size_t d = 0; d < dims->size(); ++d) {
    const std::optional<int> from = Dim((*dims)[d], view.rank());
    if (!from.has_value()) return false;
    permuted.sizes[d] = view.sizes[*from];
    permuted.strides[d] = view.strides[*from];
  }
  view = permuted;
  return true;
}

bool Transpose(const Node& node, ConstantView& view) {
  int a = 0, b = 1;
  if (node.target->op() == "transpose_copy") {
    const std::optional<int> dim0 = Dim(node.argument("dim0"), view.rank());
    const std::optional<int> dim1 = Dim(node.argument("dim1"), view.rank());
    if (!dim0.has_value() || !dim1.has_value()) return false;
    a = *dim0;
    b = *dim1;
  } else if (view.rank() != 2) {
    return view.rank() < 2;
  }
  std::swap(view.sizes[a], view.sizes[b]);
  std::swap(view.strides[a], view.strides[b]);
  return true;
}

// Applies an expansion to the sizes of the node's result.
bool Expand(const TensorMeta& result, ConstantView& view) {
  const int added = result.rank() - view.rank();
  if (added < 0) return false;
  view.sizes.insert(view.sizes.begin(), added, SymInt(1));
  view.strides.insert(view.strides.begin(), added, 0);
  for (int d = 0; d < result.rank(); ++d) {
    if (view.sizes[d] == result.sizes[d]) continue;
    if (!(view.sizes[d] == SymInt(1))) return false;
    view.sizes[d] = result.sizes[d];
    view.strides[d] = 0;
  }
  return true;
}

bool Reshape(const TensorMeta& result, ConstantView& view) {
  // Only dimensions of size 1 are added or removed.
  const SymInt one = 1;
  std::vector<int64_t> strides;
  int from = 0;
  bool same = true;
  for (int d = 0; d < result.rank(); ++d) {
    if (result.sizes[d] == one) {
      strides.push_back(0);
      continue;
    }
    while (from < view.rank() && view.sizes[from] == one) ++from;
    same = same && from < view.rank() && view.sizes[from] == result.sizes[d];
    if (!same) break;
    strides.push_back(view.strides[from++]);
  }
  while (from < view.rank() && view.sizes[from] == one) ++from;
  if (same && from == view.rank()) {
    view.sizes = result.sizes;
    view.strides = std::move(strides);
    return true;
  }
  const std::optional<ConstantTensor> tensor = view.ToTensor();
  if (!tensor.has_value() || !tensor->is_contiguous() || !result.is_static()) return false;
  view.sizes = result.sizes;
  view.strides.assign(result.rank(), 1);
  for (int d = result.rank() - 2; d >= 0; --d) {
    view.strides[d] = view.strides[d + 1] * *result.sizes[d + 1].AsInt();
  }
  return true;
}

// Applies the operator to `view`. Returns false if the result is not a view.
bool Apply(Kind kind, const Node& node, const TensorMeta& result, ConstantView& view) {
  switch (kind) {
    case Kind::kSame:
      return true;
    case Kind::kReshape:
      return Reshape(result, view);
    case Kind::kPermute:
      return Permute(node, view);
    case Kind::kTranspose:
      return Transpose(node, view);
    case Kind::kExpand:
      return Expand(result, view);
  }
  return false;
}

template <class T>
double ReadAs(const void* data) {
  T value;
  std::memcpy(&value, data, sizeof(T));
  return static_cast<double>(value);
}

}  // namespace

struct ConstantViews::Row {
  std::string_view op;
  Kind kind;
};
const ConstantViews::Row ConstantViews::kRows[] = {
    {"aten.alias_copy.default", Kind::kSame},
    {"aten.clone.default", Kind::kSame},
    {"dim_order_ops._clone_dim_order.default", Kind::kSame},
    {"aten._unsafe_view.default", Kind::kReshape},
    {"aten.squeeze_copy.default", Kind::kReshape},
    {"aten.squeeze_copy.dim", Kind::kReshape},
    {"aten.squeeze_copy.dims", Kind::kReshape},
    {"aten.unsqueeze_copy.default", Kind::kReshape},
    {"aten.view_copy.default", Kind::kReshape},
    {"aten.permute_copy.default", Kind::kPermute},
    {"aten.t_copy.default", Kind::kTranspose},
    {"aten.transpose_copy.int", Kind::kTranspose},
    {"aten.expand_copy.default", Kind::kExpand},
};

std::optional<ConstantTensor> ConstantView::ToTensor() const {
  const std::optional<Sizes> known = exir::AsInts(sizes);
  if (!known.has_value()) return std::nullopt;
  absl::StatusOr<ConstantTensor> made = ConstantTensor::Create(
      tensor->dtype(), *known, Strides(strides), tensor->storage_offset(), tensor->storage());
  if (!made.ok()) return std::nullopt;
  return *std::move(made);
}

std::optional<std::vector<double>> ConstantView::Elements() const {
  const std::optional<ConstantTensor> view = ToTensor();
  if (!view.has_value()) return std::nullopt;
  const absl::StatusOr<exir::Storage> dense = view->Dense();
  if (!dense.ok()) return std::nullopt;
  const auto read = [&](auto type) {
    using T = decltype(type);
    std::vector<double> elements(static_cast<size_t>(view->view().numel()));
    for (size_t i = 0; i < elements.size(); ++i) {
      elements[i] = ReadAs<T>(dense->bytes.data() + i * sizeof(T));
    }
    return elements;
  };
  switch (view->dtype()) {
    case DType::kFloat32:
      return read(float());
    case DType::kBFloat16:
      return read(BFloat16());
    case DType::kFloat16:
      return read(Half());
    case DType::kInt64:
      return read(int64_t());
    case DType::kInt32:
      return read(int32_t());
    case DType::kInt8:
    case DType::kBool:
      return read(int8_t());
    default:
      return std::nullopt;
  }
}

bool ConstantView::IsFinite() const {
  // An exponent of ones is that of infinities and NaN.
  const auto all_below = [&](auto exponent) {
    const absl::StatusOr<exir::Storage> dense = tensor->Dense();
    if (!dense.ok()) return false;
    using Word = decltype(exponent);
    Word found = 0;
    for (size_t i = 0; i + sizeof(Word) <= dense->bytes.size(); i += sizeof(Word)) {
      Word word;
      std::memcpy(&word, dense->bytes.data() + i, sizeof(Word));
      found |= static_cast<Word>((word & exponent) == exponent);
    }
    return found == 0;
  };
  switch (tensor->dtype()) {
    case DType::kFloat64:
      return all_below(uint64_t{0x7FF0000000000000});
    case DType::kFloat32:
      return all_below(uint32_t{0x7F800000});
    case DType::kBFloat16:
      return all_below(uint16_t{0x7F80});
    case DType::kFloat16:
      return all_below(uint16_t{0x7C00});
    default:
      return true;
  }
}

ConstantViews::ConstantViews(const exir::ExportedProgram& program)
    : program_(program), views_(*program.ops, kRows) {
  const absl::btree_set<std::string_view> mutated = exir::MutatedState(program.signature);
  const exir::Graph& graph = program.top();
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    const exir::InputSpec& spec = program.signature.inputs[i];
    if (!exir::NamesTensor(spec.kind) || mutated.contains(spec.target)) continue;
    if (const ConstantTensor* tensor = program.FindConstant(spec)) {
      (spec.replaceable ? replaceable_ : roots_).emplace(graph.inputs()[i], *tensor);
    }
  }
}

std::optional<ConstantView> ConstantViews::Find(exir::ValueId value) const {
  return Find(value, roots_);
}

std::optional<ConstantView> ConstantViews::FindReplaceable(const exir::Argument& argument) const {
  const exir::ValueId* value = argument.get_if<exir::ValueId>();
  return value == nullptr ? std::nullopt : Find(*value, replaceable_);
}

std::optional<ConstantView> ConstantViews::Find(exir::ValueId value, const Roots& roots) const {
  const exir::Graph& graph = program_.top();
  std::vector<std::pair<const Node*, Kind>> views;  // last node first
  for (;;) {
    const exir::NodeId producer = graph.value(value).producer;
    if (!producer.valid()) break;
    const Node& node = graph.node(producer);
    const Row* row = views_.Find(node.target);
    const exir::ValueId* operand = node.operand().get_if<exir::ValueId>();
    if (row == nullptr || operand == nullptr) return std::nullopt;
    views.emplace_back(&node, row->kind);
    value = *operand;
  }
  const auto root = roots.find(value);
  if (root == roots.end()) return std::nullopt;
  ConstantView view{value, &root->second, {}, {}};
  view.sizes.assign(root->second.sizes().begin(), root->second.sizes().end());
  view.strides.assign(root->second.strides().begin(), root->second.strides().end());
  for (auto it = views.rbegin(); it != views.rend(); ++it) {
    const TensorMeta* result = graph.value(it->first->results()[0]).tensor();
    if (result == nullptr || !Apply(it->second, *it->first, *result, view)) return std::nullopt;
  }
  return view;
}

std::optional<ConstantView> ConstantViews::Find(const exir::Argument& argument) const {
  const exir::ValueId* value = argument.get_if<exir::ValueId>();
  return value == nullptr ? std::nullopt : Find(*value);
}

std::optional<double> ConstantViews::Number(const exir::Argument& argument) const {
  if (const int64_t* i = argument.get_if<int64_t>()) return static_cast<double>(*i);
  if (const double* d = argument.get_if<double>()) return *d;
  const std::optional<ConstantView> view = Find(argument);
  if (!view.has_value()) return std::nullopt;
  for (const SymInt& size : view->sizes) {
    if (!(size == SymInt(1))) return std::nullopt;
  }
  const void* data = view->tensor->view().data;
  switch (view->tensor->dtype()) {
    case DType::kFloat32:
      return ReadAs<float>(data);
    case DType::kFloat64:
      return ReadAs<double>(data);
    case DType::kBFloat16:
      return ReadAs<BFloat16>(data);
    case DType::kFloat16:
      return ReadAs<Half>(data);
    case DType::kInt64:
      return ReadAs<int64_t>(data);
    case DType::kInt32:
      return ReadAs<int32_t>(data);
    case DType::kBool:
      return ReadAs<uint8_t>(data);
    default:
      return std::nullopt;
  }
}

}  // namespace belay::cpu
