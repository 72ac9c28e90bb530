#include "exir/emit/view_proof.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <random>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/core/dtype.h"

namespace belay::exir {
namespace {

constexpr int64_t kAllElements = 4096;
constexpr int kSamples = 1000;

using Index = std::vector<int64_t>;

// A tensor value of the method with the addresses of its elements. Constants and the arena are
// separate address spaces.
class Elements {
 public:
  Elements(const schema::Method& method, uint32_t value) {
    const schema::Value& v = method.values(static_cast<int>(value));
    if (!v.has_tensor() || v.tensor().dynamic_dims() != 0) return;
    const schema::Tensor& tensor = v.tensor();
    sizes.assign(tensor.sizes().begin(), tensor.sizes().end());
    bytes = static_cast<int64_t>(DTypeSize(static_cast<DType>(tensor.dtype())));
    dtype = tensor.dtype();
    strides_.assign(sizes.size(), 0);
    count = 1;
    for (auto d = tensor.dim_order().rbegin(); d != tensor.dim_order().rend(); ++d) {
      const size_t dim = static_cast<unsigned char>(*d);
      strides_[dim] = count * bytes;
      count *= sizes[dim];
    }
    if (tensor.location_case() == schema::Tensor::kArenaOffset) {
      begin_ = static_cast<int64_t>(tensor.arena_offset());
      space = -1;
    } else if (tensor.location_case() == schema::Tensor::kConstant) {
      space = tensor.constant();
    } else {
      return;
    }
    known = true;
  }

  bool Contains(const Index& index) const {
    if (index.size() != sizes.size()) return false;
    for (size_t d = 0; d < sizes.size(); ++d) {
      if (index[d] < 0 || index[d] >= sizes[d]) return false;
    }
    return true;
  }
  int64_t AddressOf(const Index& index) const {
    int64_t address = begin_;
    for (size_t d = 0; d < sizes.size(); ++d) address += index[d] * strides_[d];
    return address;
  }
  // Index of element `number` in row-major order.
  Index IndexOf(int64_t number) const {
    Index index(sizes.size());
    for (size_t d = sizes.size(); d-- > 0;) {
      index[d] = number % sizes[d];
      number /= sizes[d];
    }
    return index;
  }
  int64_t NumberOf(const Index& index) const {
    int64_t number = 0;
    for (size_t d = 0; d < sizes.size(); ++d) number = number * sizes[d] + index[d];
    return number;
  }

  std::vector<int64_t> sizes;
  int64_t bytes = 0;  // element size
  int64_t count = 0;
  uint32_t dtype = 0;
  int64_t space = -2;
  bool known = false;

 private:
  std::vector<int64_t> strides_;
  int64_t begin_ = 0;
};

// Row-major numbers of the elements to check.
std::set<int64_t> Probes(const Elements& a, const Elements& b) {
  std::set<int64_t> probes;
  if (a.count <= kAllElements) {
    for (int64_t n = 0; n < a.count; ++n) probes.insert(n);
    return probes;
  }
  probes = {0, a.count - 1};
  for (const Elements* t : {&a, &b}) {
    int64_t step = 1;
    for (size_t d = t->sizes.size(); d-- > 0;) {
      for (int64_t k : {int64_t{1}, t->sizes[d] - 1}) {
        if (k * step < a.count) probes.insert(k * step);
      }
      step *= t->sizes[d];
    }
  }
  std::minstd_rand random(1);
  for (int k = 0; k < kSamples; ++k) {
    probes.insert(static_cast<int64_t>(random()) * 2147483629 % a.count);
  }
  return probes;
}

// Checks that element `index` of `part` has the address of element map(index) of `whole`.
std::string Compare(const Elements& part, const Elements& whole,
                    const std::function<Index(const Index&)>& map) {
  if (!part.known) return "its tensors are not static, or not in known memory";
  if (part.space != whole.space) return "its argument and its result are in different memory";
  if (part.bytes != whole.bytes || part.dtype != whole.dtype) return "its dtypes differ";
  for (int64_t number : Probes(part, whole)) {
    const Index index = part.IndexOf(number);
    const Index from = map(index);
    if (!whole.Contains(from)) return absl::StrCat("element ", number, " has no source");
    if (part.AddressOf(index) != whole.AddressOf(from)) {
      return absl::StrCat("element ", number, " would have to move");
    }
  }
  return "";
}

class Prover {
 public:
  Prover(const schema::Method& method, std::string_view op, const schema::KernelCall& call)
      : method_(method), call_(call), op_(op) {}

  std::string Run() {
    if (call_.outputs_size() != 1 || call_.arguments_size() == 0) return "it is not a view";
    if (op_ == "aten.cat.default") return Join();
    const Elements from(method_, call_.arguments(0));
    if (!from.known) return "its argument is not static, or not in known memory";
    const int rank = static_cast<int>(from.sizes.size());
    if (op_ == "aten.split_copy.Tensor" || op_ == "aten.split_with_sizes_copy.default") {
      return Pieces(from, Dim(2, rank), /*drop=*/false);
    }
    if (op_ == "aten.unbind_copy.int") return Pieces(from, Dim(1, rank), /*drop=*/true);
    const Elements to(method_, call_.outputs(0));
    if (op_ == "aten.view_copy.dtype" || op_ == "aten.view_as_real_copy.default" ||
        op_ == "aten.view_as_complex_copy.default") {
      return Reinterpreted(from, to);
    }
    if (IsAnyOf({"aten.view_copy.default", "aten._unsafe_view.default", "aten.reshape.default",
                 "aten._reshape_alias_copy.default", "aten.squeeze_copy.default",
                 "aten.squeeze_copy.dim", "aten.squeeze_copy.dims",
                 "aten.unsqueeze_copy.default"})) {
      if (from.count != to.count) return "its argument and its result differ in elements";
      return Compare(to, from, [&](const Index& i) { return from.IndexOf(to.NumberOf(i)); });
    }
    if (IsAnyOf({"aten.alias_copy.default", "aten.clone.default", "aten.detach_copy.default",
                 "aten.lift_fresh_copy.default", "dim_order_ops._clone_dim_order.default",
                 "dim_order_ops._to_dim_order_copy.default"})) {
      return Compare(to, from, [](const Index& i) { return i; });
    }
    if (op_ == "aten.expand_copy.default") {
      return Compare(to, from, [&](const Index& i) {
        Index result(i.end() - std::min<ptrdiff_t>(rank, static_cast<ptrdiff_t>(i.size())),
                     i.end());
        for (size_t d = 0; d < result.size(); ++d) {
          if (from.sizes[d] == 1) result[d] = 0;
        }
        return result;
      });
    }
    if (op_ == "aten.permute_copy.default" || op_ == "aten.transpose_copy.int" ||
        op_ == "aten.t_copy.default") {
      const std::optional<Index> order = Permutation(rank);
      if (!order.has_value()) return "its dimensions are unknown";
      return Compare(to, from, [&](const Index& i) {
        if (i.size() != order->size())
          return Index(order->size() + 1);  // an invalid index: wrong rank
        Index result(i.size());
        for (size_t d = 0; d < i.size(); ++d) result[(*order)[d]] = i[d];
        return result;
      });
    }
    const bool select = op_ == "aten.select_copy.int";
    if (select || op_ == "aten.slice_copy.Tensor" || op_ == "aten.narrow_copy.default") {
      const std::optional<int64_t> dim = Dim(1, rank);
      if (!dim.has_value() || call_.arguments_size() < 3) return "its dimension is unknown";
      std::optional<int64_t> start = Int(2);
      const int64_t size = from.sizes[*dim];
      if (op_ == "aten.slice_copy.Tensor") {
        if (call_.arguments_size() != 5 || Int(4) != 1) return "its step is not 1";
        if (Value(2).has_none()) start = 0;
      }
      if (!start.has_value()) return "its start is unknown";
      if (*start < 0) *start += size;
      return Compare(to, from, Shift(*dim, *start, select));
    }
    return absl::StrCat("'", std::string(op_), "' computes something");
  }

 private:
  const schema::Value& Value(int argument) const {
    return method_.values(static_cast<int>(call_.arguments(argument)));
  }
  std::optional<int64_t> Int(int argument) const {
    if (argument >= call_.arguments_size()) return std::nullopt;
    const schema::Value& v = Value(argument);
    if (v.kind_case() != schema::Value::kInt) return std::nullopt;
    return v.int_();
  }
  std::optional<int64_t> Dim(int argument, int64_t rank) const {
    const std::optional<int64_t> dim = Int(argument);
    if (!dim.has_value() || *dim < -rank || *dim >= rank) return std::nullopt;
    return (*dim + rank) % rank;
  }
  bool IsAnyOf(std::initializer_list<std::string_view> names) const {
    return std::find(names.begin(), names.end(), op_) != names.end();
  }

  // Maps an index of the part to one of the whole.
  static std::function<Index(const Index&)> Shift(int64_t dim, int64_t start, bool dropped) {
    return [=](const Index& index) {
      Index result = index;
      if (dropped) {
        result.insert(result.begin() + std::min<int64_t>(dim, static_cast<int64_t>(index.size())),
                      0);
      }
      if (dim < static_cast<int64_t>(result.size())) result[dim] += start;
      return result;
    };
  }

  std::string Pieces(const Elements& from, std::optional<int64_t> dim, bool drop) {
    const schema::Value& list = method_.values(static_cast<int>(call_.outputs(0)));
    if (!dim.has_value() || !list.has_list()) return "its dimension is unknown";
    int64_t start = 0;
    for (uint32_t v : list.list().elements()) {
      const Elements piece(method_, v);
      if (!piece.known || (!drop && piece.sizes.size() != from.sizes.size())) {
        return "a piece is not static, or not in known memory";
      }
      if (std::string problem = Compare(piece, from, Shift(*dim, start, drop)); !problem.empty()) {
        return problem;
      }
      start += drop ? 1 : piece.sizes[*dim];
    }
    return start == from.sizes[*dim] ? "" : "its pieces are not the whole";
  }

  std::string Join() {
    const schema::Value& list = Value(0);
    const Elements whole(method_, call_.outputs(0));
    if (!list.has_list() || !whole.known) return "its operands are unknown";
    const std::optional<int64_t> dim = Dim(1, static_cast<int64_t>(whole.sizes.size()));
    if (!dim.has_value()) return "its dimension is unknown";
    int64_t start = 0, count = 0;
    for (uint32_t v : list.list().elements()) {
      const Elements piece(method_, v);
      if (!piece.known || piece.sizes.size() != whole.sizes.size()) {
        return "an operand is not static, or not in known memory";
      }
      if (std::string problem = Compare(piece, whole, Shift(*dim, start, false));
          !problem.empty()) {
        return problem;
      }
      start += piece.sizes[*dim];
      count += piece.count;
    }
    if (start != whole.sizes[*dim] || count != whole.count) return "its operands are not the whole";
    return "";
  }

  static std::string Reinterpreted(const Elements& from, const Elements& to) {
    if (!to.known || from.space != to.space) {
      return "its argument and its result are in different memory";
    }
    if (from.count * from.bytes != to.count * to.bytes) return "its size in bytes differs";
    for (const Elements* t : {&from, &to}) {
      for (int64_t number : Probes(*t, *t)) {
        if (t->AddressOf(t->IndexOf(number)) !=
            from.AddressOf(Index(from.sizes.size(), 0)) + number * t->bytes) {
          return absl::StrCat("element ", number, " would have to move");
        }
      }
    }
    return "";
  }

  std::optional<Index> Permutation(int64_t rank) const {
    Index order(rank);
    for (int64_t d = 0; d < rank; ++d) order[d] = d;
    if (op_ == "aten.t_copy.default") {
      if (rank == 2) std::swap(order[0], order[1]);
      return order;
    }
    if (op_ == "aten.transpose_copy.int") {
      const std::optional<int64_t> a = Dim(1, rank), b = Dim(2, rank);
      if (!a.has_value() || !b.has_value()) return std::nullopt;
      std::swap(order[*a], order[*b]);
      return order;
    }
    if (call_.arguments_size() < 2 || !Value(1).has_list()) return std::nullopt;
    const schema::List& list = Value(1).list();
    if (list.elements_size() != rank) return std::nullopt;
    std::set<int64_t> seen;
    for (int64_t d = 0; d < rank; ++d) {
      const schema::Value& v = method_.values(static_cast<int>(list.elements(d)));
      if (v.kind_case() != schema::Value::kInt || v.int_() < -rank || v.int_() >= rank) {
        return std::nullopt;
      }
      order[d] = (v.int_() + rank) % rank;
      if (!seen.insert(order[d]).second) return std::nullopt;
    }
    return order;
  }

  const schema::Method& method_;
  const schema::KernelCall& call_;
  const std::string_view op_;
};

}  // namespace

std::string ProveBytesAreInPlace(const schema::Method& method, std::string_view op,
                                 const schema::KernelCall& call) {
  return Prover(method, op, call).Run();
}

std::string ProveKeptViewIsInPlace(const schema::Method& method, std::string_view op,
                                   const schema::KernelCall& call) {
  const schema::Tensor& from = method.values(static_cast<int>(call.arguments(0))).tensor();
  const schema::Tensor& to = method.values(static_cast<int>(call.outputs(0))).tensor();
  if (from.arena_offset() != to.arena_offset()) return "it starts elsewhere";
  if (from.dtype() != to.dtype()) return "its dtypes differ";
  for (std::string_view copy :
       {"aten.alias_copy.default", "aten.detach_copy.default", "aten.lift_fresh_copy.default",
        "dim_order_ops._clone_dim_order.default", "dim_order_ops._to_dim_order_copy.default"}) {
    if (op == copy) return from.dim_order() == to.dim_order() ? "" : "its orders differ";
  }
  for (const schema::Tensor* tensor : {&from, &to}) {
    for (size_t d = 0; d < tensor->dim_order().size(); ++d) {
      if (static_cast<size_t>(tensor->dim_order()[d]) != d) return "it is not row-major";
    }
  }
  for (std::string_view reshape :
       {"aten.view_copy.default", "aten._unsafe_view.default", "aten.squeeze_copy.default",
        "aten.squeeze_copy.dim", "aten.squeeze_copy.dims", "aten.unsqueeze_copy.default"}) {
    if (op == reshape) return "";
  }
  return absl::StrCat("'", std::string(op), "' computes something");
}

}  // namespace belay::exir
