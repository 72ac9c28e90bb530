// Tensor contractions over labeled dimensions, and operators that consist of matmuls.

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "exir/builder/op_shorthand.h"
#include "exir/decompositions/families.h"

namespace belay::exir {
namespace {

// A tensor whose dimensions have distinct labels.
struct Labeled {
  Argument tensor;
  std::vector<int> labels;
};

bool Has(const std::vector<int>& labels, int label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}
int64_t Place(const std::vector<int>& labels, int label) {
  return std::find(labels.begin(), labels.end(), label) - labels.begin();
}

// Sums over the dimensions for which `drop` returns true. Sums of integers are int64. With
// `reshape_ones`, dimensions of size 1 are removed without a sum, which keeps the dtype.
template <class Fn>
Labeled SumAway(OpBuilder& b, Labeled x, Fn drop, bool reshape_ones) {
  const std::vector<SymInt> sizes = b.sizes(x.tensor);
  std::vector<int64_t> dims;
  std::vector<int> left;
  std::vector<SymInt> left_sizes;
  bool ones = reshape_ones;
  for (size_t d = 0; d < x.labels.size() && b.ok(); ++d) {
    if (drop(x.labels[d])) {
      dims.push_back(static_cast<int64_t>(d));
      ones = ones && sizes[d].AsInt() == 1;
    } else {
      left.push_back(x.labels[d]);
      left_sizes.push_back(sizes[d]);
    }
  }
  if (dims.empty()) return x;
  return {ones ? Reshape(b, x.tensor, left_sizes) : Sum(b, x.tensor, dims), std::move(left)};
}

// Permutes the dimensions to the order of `labels`, which x must all have.
Argument Arrange(OpBuilder& b, const Labeled& x, const std::vector<int>& labels) {
  std::vector<int64_t> order;
  for (int label : labels) order.push_back(Place(x.labels, label));
  return std::is_sorted(order.begin(), order.end()) ? x.tensor : Permute(b, x.tensor, order);
}

std::vector<SymInt> SizesOf(OpBuilder& b, const Labeled& x, const std::vector<int>& labels) {
  const std::vector<SymInt> all = b.sizes(x.tensor);
  std::vector<SymInt> sizes;
  for (int label : labels) {
    const size_t d = static_cast<size_t>(Place(x.labels, label));
    if (d < all.size()) sizes.push_back(all[d]);
  }
  return sizes;
}

// Multiplies x and y, and sums over their common labels that are not in `keep`.
Labeled Contract(OpBuilder& b, Labeled x, Labeled y, const std::vector<int>& keep) {
  // Drop dimensions of size 1 that are broadcast against a larger one.
  const auto drop_ones = [&](Labeled& one, const Labeled& other) {
    for (size_t d = one.labels.size(); d-- > 0 && b.ok();) {
      if (!Has(other.labels, one.labels[d])) continue;
      const SymInt mine = b.size(one.tensor, static_cast<int64_t>(d));
      const SymInt theirs = b.size(other.tensor, Place(other.labels, one.labels[d]));
      if (mine.AsInt() == 1 && theirs.AsInt() != 1) {
        one.tensor = Squeeze(b, one.tensor, static_cast<int64_t>(d));
        one.labels.erase(one.labels.begin() + static_cast<ptrdiff_t>(d));
      }
    }
  };
  drop_ones(x, y);
  drop_ones(y, x);
  const auto needless = [&](const Labeled& other) {
    return [&](int label) { return !Has(keep, label) && !Has(other.labels, label); };
  };
  x = SumAway(b, std::move(x), needless(y), /*reshape_ones=*/true);
  y = SumAway(b, std::move(y), needless(x), /*reshape_ones=*/true);
  if (!b.ok()) return x;
  std::vector<int> batch, left, right, summed;
  for (int label : x.labels) {
    if (!Has(y.labels, label)) {
      left.push_back(label);
    } else {
      (Has(keep, label) ? batch : summed).push_back(label);
    }
  }
  for (int label : y.labels) {
    if (!Has(x.labels, label)) right.push_back(label);
  }
  const auto join = [](std::vector<int> a, const std::vector<int>& c, const std::vector<int>& d) {
    a.insert(a.end(), c.begin(), c.end());
    a.insert(a.end(), d.begin(), d.end());
    return a;
  };
  if (summed.empty()) {
    // x keeps its order, so that it is not copied; y is broadcast over it.
    std::vector<SymInt> x_sizes = b.sizes(x.tensor), y_sizes = x_sizes;
    const std::vector<SymInt> added = SizesOf(b, y, right);
    if (!b.ok()) return x;
    for (size_t d = 0; d < y_sizes.size(); ++d) {
      if (!Has(y.labels, x.labels[d])) y_sizes[d] = SymInt(1);
    }
    x_sizes.insert(x_sizes.end(), right.size(), SymInt(1));
    y_sizes.insert(y_sizes.end(), added.begin(), added.end());
    const Argument first = right.empty() ? x.tensor : Reshape(b, x.tensor, x_sizes);
    const Argument second = Reshape(b, Arrange(b, y, join(batch, right, {})), y_sizes);
    return {Mul(b, first, second), join(x.labels, right, {})};
  }
  const std::vector<SymInt> batch_sizes = SizesOf(b, x, batch), left_sizes = SizesOf(b, x, left),
                            right_sizes = SizesOf(b, y, right), inner = SizesOf(b, x, summed);
  const Argument first = Reshape(b, Arrange(b, x, join(batch, left, summed)),
                                 {Product(batch_sizes), Product(left_sizes), Product(inner)});
  const Argument second = Reshape(b, Arrange(b, y, join(batch, summed, right)),
                                  {Product(batch_sizes), Product(inner), Product(right_sizes)});
  std::vector<SymInt> sizes = batch_sizes;
  sizes.insert(sizes.end(), left_sizes.begin(), left_sizes.end());
  sizes.insert(sizes.end(), right_sizes.begin(), right_sizes.end());
  const Argument product = b.Call("aten.bmm.default", {first, second});
  return {Reshape(b, product, sizes), join(batch, left, right)};
}

// --- einsum ---

constexpr int kEllipsis = 1000;  // labels of its dimensions, counted from the last

// Returns the labels of one operand, including repeated ones. Empty after an error.
std::vector<int> ParseLabels(OpBuilder& b, std::string_view text, int64_t rank) {
  std::vector<int> labels;
  const size_t dots = text.find("...");
  const int64_t letters = static_cast<int64_t>(text.size()) - (dots == text.npos ? 0 : 3);
  for (size_t i = 0; i < text.size(); ++i) {
    if (i == dots) {
      for (int64_t k = rank - letters; k-- > 0;) labels.push_back(kEllipsis + static_cast<int>(k));
      i += 2;
    } else if (text[i] == '.' || text[i] == '-' || text[i] == '>') {
      b.Invalid(absl::StrCat("einsum: '", text, "' names no dimensions"));
      return {};
    } else {
      labels.push_back(text[i]);
    }
  }
  return labels;
}

// Replaces repeated labels by one: the diagonal.
Labeled Diagonals(OpBuilder& b, Labeled x) {
  for (size_t d = 0; d < x.labels.size() && b.ok(); ++d) {
    for (size_t e = x.labels.size(); e-- > d + 1;) {
      if (x.labels[e] != x.labels[d]) continue;
      // The diagonal becomes the last dimension.
      x.tensor = b.Call("aten.diagonal.default",
                        {x.tensor, 0, static_cast<int64_t>(d), static_cast<int64_t>(e)});
      const int label = x.labels[d];
      x.labels.erase(x.labels.begin() + static_cast<ptrdiff_t>(e));
      x.labels.erase(x.labels.begin() + static_cast<ptrdiff_t>(d));
      x.labels.push_back(label);
      --d;
      break;
    }
  }
  return x;
}

std::vector<Argument> Einsum(OpBuilder& b, const OpCall& c) {
  std::string equation;
  for (char letter : c.String("equation")) {
    if (letter != ' ') equation += letter;
  }
  const std::vector<Argument> tensors = c.List("tensors");
  if (!b.ok()) return {};
  const auto invalid = [&](std::string_view what) -> std::vector<Argument> {
    b.Invalid(absl::StrCat("einsum: ", what, " in '", equation, "'"));
    return {};
  };
  for (char letter : equation) {
    const bool known = (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
                       letter == ',' || letter == '.' || letter == '-' || letter == '>';
    if (!known) return invalid("an unknown character");
  }
  const size_t arrow = equation.find("->");
  const std::string_view inputs = std::string_view(equation).substr(0, arrow);
  std::vector<Labeled> operands;
  std::map<int, int> count;
  for (size_t start = 0; start <= inputs.size();) {
    const size_t end = std::min(inputs.find(',', start), inputs.size());
    if (operands.size() == tensors.size()) return invalid("too many operands");
    const Argument& tensor = tensors[operands.size()];
    std::vector<int> labels = ParseLabels(b, inputs.substr(start, end - start), b.rank(tensor));
    if (!b.ok()) return {};
    if (static_cast<int64_t>(labels.size()) != b.rank(tensor)) {
      return invalid("a wrong number of dimensions");
    }
    for (int label : labels) ++count[label];
    operands.push_back(Diagonals(b, {tensor, std::move(labels)}));
    start = end + 1;
  }
  if (operands.size() != tensors.size()) return invalid("too few operands");
  std::vector<int> output;
  int64_t dots = 0;
  for (const auto& [label, times] : count) dots += label >= kEllipsis;
  if (arrow == equation.npos) {
    // The ellipsis, then labels that occur once, sorted.
    for (int64_t k = dots; k-- > 0;) output.push_back(kEllipsis + static_cast<int>(k));
    for (const auto& [label, times] : count) {
      if (times == 1 && label < kEllipsis) output.push_back(label);
    }
  } else {
    const std::string_view text = std::string_view(equation).substr(arrow + 2);
    const bool has_dots = text.find("...") != text.npos;
    output = ParseLabels(b, text, static_cast<int64_t>(text.size()) - (has_dots ? 3 : 0) + dots);
    if (!b.ok()) return {};
    for (int label : output) {
      if (count.count(label) == 0) return invalid("an output label that no operand has");
    }
  }
  Labeled result = std::move(operands[0]);
  for (size_t i = 1; i < operands.size() && b.ok(); ++i) {
    std::vector<int> keep = output;
    for (size_t k = i + 1; k < operands.size(); ++k) {
      keep.insert(keep.end(), operands[k].labels.begin(), operands[k].labels.end());
    }
    result = Contract(b, std::move(result), operands[i], keep);
  }
  if (!b.ok()) return {};
  const bool is_product = operands.size() > 1;
  result =
      SumAway(b, std::move(result), [&](int label) { return !Has(output, label); }, is_product);
  if (!b.ok()) return {};
  return {Arrange(b, result, output)};
}

// --- Other contractions ---

// Sums over pairs of dimensions; returns the remaining dimensions of x, then those of y.
Argument ContractDims(OpBuilder& b, const Argument& x, const Argument& y,
                      const std::vector<int64_t>& x_dims, const std::vector<int64_t>& y_dims) {
  Labeled first{x, {}}, second{y, {}};
  for (int64_t d = 0; d < b.rank(x); ++d) first.labels.push_back(static_cast<int>(d));
  for (int64_t d = 0; d < b.rank(y); ++d) second.labels.push_back(100 + static_cast<int>(d));
  std::vector<int> keep;
  for (size_t i = 0; i < x_dims.size(); ++i) {
    const int64_t from = b.WrapDim(y_dims[i], b.rank(y)), to = b.WrapDim(x_dims[i], b.rank(x));
    if (first.labels.empty() || second.labels.empty()) {
      b.Invalid("a sum over a dimension of a tensor without dimensions");
    }
    if (!b.ok()) return Argument();
    int& label = second.labels[static_cast<size_t>(from)];
    if (label < 100 || Has(second.labels, static_cast<int>(to))) {
      b.Invalid("a sum over one dimension twice");
      return Argument();
    }
    label = static_cast<int>(to);
  }
  for (int label : first.labels) {
    if (!Has(second.labels, label)) keep.push_back(label);
  }
  for (int label : second.labels) {
    if (label >= 100) keep.push_back(label);
  }
  return Contract(b, std::move(first), std::move(second), keep).tensor;
}

std::vector<Argument> TensorDot(OpBuilder& b, const OpCall& c) {
  const std::vector<int64_t> x = c.Ints("dims_self"), y = c.Ints("dims_other");
  if (x.size() != y.size()) b.Invalid("tensordot: both need as many dimensions");
  if (!b.ok()) return {};
  return {ContractDims(b, c["self"], c["other"], x, y)};
}

std::vector<Argument> Inner(OpBuilder& b, const OpCall& c) {
  const Argument &x = c["self"], &y = c["other"];
  if (b.rank(x) == 0 || b.rank(y) == 0) return {Mul(b, x, y)};
  return {ContractDims(b, x, y, {-1}, {-1})};
}

std::vector<Argument> Bilinear(OpBuilder& b, const OpCall& c) {
  const Argument &x = c["input1"], &y = c["input2"], &weight = c["weight"];
  std::vector<SymInt> sizes = b.sizes(x);
  if (sizes.empty() || b.rank(y) != b.rank(x) || b.rank(weight) != 3) {
    b.Invalid("bilinear: expected inputs of one rank and a weight of three dimensions");
  }
  if (!b.ok()) return {};
  const Argument rows = Reshape(b, x, {-1, b.size(x, -1)});
  const Argument columns = Reshape(b, y, {-1, b.size(y, -1)});
  // n: rows, o: outputs, i and j: inputs.
  const Labeled half = Contract(b, {rows, {'n', 'i'}}, {weight, {'o', 'i', 'j'}}, {'n', 'o', 'j'});
  Labeled all = Contract(b, half, {columns, {'n', 'j'}}, {'n', 'o'});
  if (!b.ok()) return {};
  sizes.back() = b.size(weight, 0);
  Argument result = Reshape(b, Arrange(b, all, {'n', 'o'}), sizes);
  if (!c.IsNone("bias")) result = Add(b, result, c["bias"]);
  return {result};
}

std::vector<Argument> Kron(OpBuilder& b, const OpCall& c) {
  const Argument &x = c["self"], &y = c["other"];
  const int64_t rank = std::max(b.rank(x), b.rank(y));
  const auto padded = [&](const Argument& tensor) {
    std::vector<SymInt> sizes = b.sizes(tensor);
    sizes.insert(sizes.begin(), static_cast<size_t>(rank) - sizes.size(), SymInt(1));
    return sizes;
  };
  if (!b.ok()) return {};
  const std::vector<SymInt> xs = padded(x), ys = padded(y);
  std::vector<SymInt> x_sizes, y_sizes, sizes;
  for (int64_t d = 0; d < rank; ++d) {
    x_sizes.insert(x_sizes.end(), {xs[d], SymInt(1)});
    y_sizes.insert(y_sizes.end(), {SymInt(1), ys[d]});
    sizes.push_back(xs[d] * ys[d]);
  }
  return {Reshape(b, Mul(b, Reshape(b, x, x_sizes), Reshape(b, y, y_sizes)), sizes)};
}

std::vector<Argument> MultiDot(OpBuilder& b, const OpCall& c) {
  const std::vector<Argument> all = c.arguments()[0].get_if<Argument::List>() == nullptr
                                        ? std::vector<Argument>()
                                        : *c.arguments()[0].get_if<Argument::List>();
  if (all.empty()) b.Invalid("a product without matrices");
  if (!b.ok()) return {};
  Argument result = all[0];
  for (size_t i = 1; i < all.size(); ++i) result = b.Call("aten.matmul.default", {result, all[i]});
  return {result};
}

std::vector<Argument> VecDot(OpBuilder& b, const OpCall& c) {
  Argument x = c["x"];
  if (IsComplex(b.dtype(x))) x = b.Call("aten._conj_physical.default", {x});
  return {Sum(b, Mul(b, x, c["y"]), {c.Int("dim")})};
}

Argument Inverse(OpBuilder& b, const Argument& matrix) {
  return b.Call("aten.linalg_inv_ex.default", {matrix});
}

std::vector<Argument> MatrixPower(OpBuilder& b, const OpCall& c) {
  Argument base = c["self"];
  int64_t n = c.Int("n");
  if (b.rank(base) < 2) b.Invalid("matrix_power: expected a matrix");
  if (n == std::numeric_limits<int64_t>::min()) b.Invalid("matrix_power: n is out of range");
  if (!b.ok()) return {};
  if (n == 0) {
    const Argument rows = Unsqueeze(b, Arange(b, b.size(base, -1)), 1);
    const Argument one = b.Call("aten.eq.Tensor", {rows, Arange(b, b.size(base, -1))});
    return {Clone(b, Expand(b, Cast(b, one, b.dtype(base)), b.sizes(base)))};
  }
  if (n < 0) {
    base = Inverse(b, base);
    n = -n;
  }
  Argument result;
  for (bool first = true; n > 0 && b.ok(); n >>= 1) {
    if (n & 1) {
      result = first ? base : b.Call("aten.matmul.default", {result, base});
      first = false;
    }
    if (n > 1) base = b.Call("aten.matmul.default", {base, base});
  }
  return {result};
}

// x^0, x^1, … along a new last dimension.
Argument Powers(OpBuilder& b, const Argument& vector, const Argument& count) {
  // Integers are computed in int64.
  const bool integers = IsIntegral(b.dtype(vector), /*include_bool=*/true);
  const Argument x = integers ? Cast(b, vector, DType::kInt64) : vector;
  const DType dtype = b.dtype(x);
  const Argument exponents = Cast(b, Arange(b, count), dtype);
  return b.Call("aten.pow.Tensor_Tensor", {Unsqueeze(b, x, -1), exponents});
}
std::vector<Argument> LinalgVander(OpBuilder& b, const OpCall& c) {
  const Argument x = b.rank(c["x"]) == 0 ? Unsqueeze(b, c["x"], 0) : c["x"];
  return {Powers(b, x, c.Or("N", b.Size(b.size(x, -1))))};
}
std::vector<Argument> Vander(OpBuilder& b, const OpCall& c) {
  const Argument& x = c["x"];
  const Argument powers = Powers(b, x, c.Or("N", b.Size(b.size(x, -1))));
  if (c.Bool("increasing")) return {powers};
  return {b.Call("aten.flip.default", {powers, std::vector<int64_t>{-1}})};
}

Argument CrossAlong(OpBuilder& b, const Argument& x, const Argument& y, int64_t dim) {
  const std::vector<SymInt> sizes = BroadcastSizes(b, {x, y});
  const Argument wide_x = Expand(b, x, sizes), wide_y = Expand(b, y, sizes);
  std::vector<Argument> parts;
  for (int64_t i = 0; i < 3 && b.ok(); ++i) {
    const int64_t j = (i + 1) % 3, k = (i + 2) % 3;
    const Argument part = Sub(b, Mul(b, Select(b, wide_x, dim, j), Select(b, wide_y, dim, k)),
                              Mul(b, Select(b, wide_x, dim, k), Select(b, wide_y, dim, j)));
    parts.push_back(Unsqueeze(b, part, dim));
  }
  return b.ok() ? Cat(b, parts, dim) : Argument();
}
std::vector<Argument> LinalgCross(OpBuilder& b, const OpCall& c) {
  const Argument &x = c["self"], &y = c["other"];
  const int64_t dim = b.WrapDim(c.Int("dim"), b.rank(x));
  if (b.ok() && (b.rank(x) != b.rank(y) || b.size(x, dim).AsInt() != 3)) {
    b.Invalid("cross: expected two tensors of one rank with size 3 along the dimension");
  }
  if (!b.ok()) return {};
  return {CrossAlong(b, x, y, dim)};
}
// The default dimension is the first of size 3.
std::vector<Argument> Cross(OpBuilder& b, const OpCall& c) {
  const Argument &x = c["self"], &y = c["other"];
  if (!c.IsNone("dim")) return LinalgCross(b, c);
  const std::vector<SymInt> sizes = b.sizes(x);
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d].AsInt() == 3) return {CrossAlong(b, x, y, static_cast<int64_t>(d))};
  }
  b.Invalid("cross: no dimension has size 3");
  return {};
}

// transformers calls it where _grouped_mm is unavailable.
std::vector<Argument> GroupedMmFallback(OpBuilder& b, const OpCall& c) {
  return {b.Call("aten._grouped_mm.default", {c["input"], c["weight"], c["offs"]})};
}

constexpr Decomposition kDecompositions[] = {
    {"aten.bilinear.default", Bilinear},
    {"aten.chain_matmul.default", MultiDot},
    {"aten.cross.default", Cross},
    {"aten.einsum.default", Einsum},
    {"aten.inner.default", Inner},
    {"aten.kron.default", Kron},
    {"aten.linalg_cross.default", LinalgCross},
    {"aten.linalg_matrix_power.default", MatrixPower},
    {"aten.linalg_multi_dot.default", MultiDot},
    {"aten.linalg_vander.default", LinalgVander},
    {"aten.linalg_vecdot.default", VecDot},
    {"aten.matrix_power.default", MatrixPower},
    {"aten.tensordot.default", TensorDot},
    {"aten.vander.default", Vander},
    {"transformers.grouped_mm_fallback.default", GroupedMmFallback},
};

}  // namespace

absl::Span<const Decomposition> ContractionDecompositions() { return kDecompositions; }

}  // namespace belay::exir
