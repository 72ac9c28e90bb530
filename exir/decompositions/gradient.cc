// Numerical gradients: differences of neighbors along dimensions.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "exir/builder/op_shorthand.h"
#include "exir/decompositions/families.h"

namespace belay::exir {
namespace {

bool Has(const OpCall& c, std::string_view name) {
  return c.op()->schema()->ArgumentIndex(name).has_value() && !c.IsNone(name);
}

// Slices along one dimension, indexed from its start or, if negative, from its end.
class Planes {
 public:
  Planes(OpBuilder& b, const Argument& x, int64_t dim)
      : b_(b), x_(x), dim_(dim), size_(b.size(x, dim)) {}
  Argument At(int64_t i) const {
    const SymInt from = i < 0 ? size_ + SymInt(i) : SymInt(i);
    return Slice(b_, x_, dim_, from, from + SymInt(1));
  }
  // All slices except `front` at the start and `back` at the end.
  Argument Inner(int64_t front, int64_t back) const {
    return Slice(b_, x_, dim_, SymInt(front), size_ - SymInt(back));
  }

 private:
  OpBuilder& b_;
  const Argument& x_;
  int64_t dim_;
  SymInt size_;
};

// a * x + b * y + c * z
struct Weighed {
  OpArgument weight;
  Argument plane;
};
Argument Weigh(OpBuilder& b, const std::vector<Weighed>& terms) {
  Argument sum;
  for (const Weighed& term : terms) {
    const Argument product = Mul(b, term.plane, term.weight);
    sum = sum.is_none() ? product : Add(b, sum, product);
  }
  return sum;
}

// Gradient with uniform spacing.
Argument Uniform(OpBuilder& b, const Argument& x, int64_t dim, const OpArgument& step,
                 int64_t order) {
  const Planes p(b, x, dim);
  const Argument inner = Div(b, Div(b, Sub(b, p.Inner(2, 0), p.Inner(0, 2)), step), 2);
  Argument first, last;
  if (order == 1) {
    first = Sub(b, p.At(1), p.At(0));
    last = Sub(b, p.At(-1), p.At(-2));
  } else {
    first = Weigh(b, {{-1.5, p.At(0)}, {2.0, p.At(1)}, {-0.5, p.At(2)}});
    last = Weigh(b, {{1.5, p.At(-1)}, {-2.0, p.At(-2)}, {0.5, p.At(-3)}});
  }
  return Cat(b, {Div(b, first, step), inner, Div(b, last, step)}, dim);
}

// Gradient with a vector of coordinates: one per point, or, as PyTorch broadcasts, three whose two
// distances apply to all points.
Argument AtCoordinates(OpBuilder& b, const Argument& x, int64_t dim, const Argument& places,
                       int64_t order) {
  if (b.rank(places) != 1) b.Invalid("gradient: expected vectors of coordinates");
  if (!b.ok()) return Argument();
  SymInt count = b.size(places, 0);
  // An unknown count is assumed to be the number of points.
  const SymInt size = b.size(x, dim);
  if (!count.AsInt().has_value() || !size.AsInt().has_value()) count = size;
  if (b.Range(count).max <= order) {
    b.Invalid(absl::StrCat("gradient: expected more than ", order, " coordinates"));
  }
  const Argument steps =
      Sub(b, Slice(b, places, 0, 1, count), Slice(b, places, 0, 0, count - SymInt(1)));
  std::vector<SymInt> shape(static_cast<size_t>(b.rank(x)), SymInt(1));
  if (!b.ok() || shape.empty()) return Argument();
  shape[static_cast<size_t>(dim)] = count - SymInt(1);
  const Argument wide = Reshape(b, steps, shape);
  const Planes p(b, x, dim), d(b, wide, dim);
  const auto sum = [&](const Argument& u, const Argument& v) { return Add(b, u, v); };
  const auto product = [&](const Argument& u, const Argument& v) { return Mul(b, u, v); };
  const auto negative = [&](const Argument& u) { return Unary(b, "neg", u); };
  // Derivative at the middle of three points with distances u and v.
  const auto middle = [&](const Argument& u, const Argument& v, const Argument& x0,
                          const Argument& x1, const Argument& x2) {
    return Weigh(b, {{negative(Div(b, v, product(u, sum(u, v)))), x0},
                     {Div(b, Sub(b, v, u), product(u, v)), x1},
                     {Div(b, u, product(v, sum(u, v))), x2}});
  };
  const Argument inner =
      middle(d.Inner(0, 1), d.Inner(1, 0), p.Inner(0, 2), p.Inner(1, 1), p.Inner(2, 0));
  Argument first, last;
  if (order == 1) {
    first = Div(b, Sub(b, p.At(1), p.At(0)), d.At(0));
    last = Div(b, Sub(b, p.At(-1), p.At(-2)), d.At(-1));
  } else {
    // Derivative at an outer point of three, with the distances from it inwards.
    const auto outer = [&](const Argument& near, const Argument& far, const Argument& x0,
                           const Argument& x1, const Argument& x2) {
      return Weigh(
          b, {{negative(Div(b, sum(Mul(b, near, 2), far), product(near, sum(near, far)))), x0},
              {Div(b, sum(near, far), product(near, far)), x1},
              {negative(Div(b, near, product(far, sum(near, far)))), x2}});
    };
    first = outer(d.At(0), d.At(1), p.At(0), p.At(1), p.At(2));
    last = negative(outer(d.At(-1), d.At(-2), p.At(-1), p.At(-2), p.At(-3)));
  }
  return Cat(b, {first, inner, last}, dim);
}

// One gradient per dimension: all, those in `dim`, or a single one. Spacing: one scalar for all, or
// per dimension a scalar or a vector of coordinates.
std::vector<Argument> Gradient(OpBuilder& b, const OpCall& c) {
  const Argument& x = c["self"];
  const int64_t rank = b.rank(x), order = c.Int("edge_order");
  if (order != 1 && order != 2) b.Invalid("edge_order: expected 1 or 2");
  std::vector<int64_t> dims;
  if (!Has(c, "dim")) {
    dims = AllDims(rank);
  } else if (c["dim"].is<Argument::List>()) {
    dims = c.Ints("dim");
  } else {
    dims = {c.Int("dim")};
  }
  std::vector<Argument> spacing(dims.size(), Argument(1));
  if (Has(c, "spacing")) {
    const Argument& given = c["spacing"];
    spacing =
        given.is<Argument::List>() ? c.List("spacing") : std::vector<Argument>(dims.size(), given);
  }
  if (spacing.size() != dims.size()) b.Invalid("spacing: expected one per dimension");
  if (!b.ok()) return {};
  Argument::List results;
  for (size_t i = 0; i < dims.size() && b.ok(); ++i) {
    const int64_t dim = b.WrapDim(dims[i], rank);
    if (b.ok() && b.Range(b.size(x, dim)).max <= order) {
      b.Invalid(
          absl::StrCat("gradient: expected more than ", order, " elements in dimension ", dim));
    }
    if (!b.ok()) return {};
    results.push_back(b.IsTensor(spacing[i]) ? AtCoordinates(b, x, dim, spacing[i], order)
                                             : Uniform(b, x, dim, spacing[i], order));
  }
  return {Argument(std::move(results))};
}

std::vector<Argument> DropoutBackward(OpBuilder& b, const OpCall& c) {
  const Argument& gradient = c["grad_output"];
  return {Mul(b, Mul(b, gradient, Cast(b, c["mask"], b.dtype(gradient))), c["scale"])};
}

constexpr Decomposition kDecompositions[] = {
    {"aten.gradient.array", Gradient},
    {"aten.gradient.scalararray", Gradient},
    {"aten.gradient.scalarint", Gradient},
    {"aten.gradient.scalarrayarray", Gradient},
    {"aten.gradient.scalarrayint", Gradient},
    {"aten.gradient.tensorarray", Gradient},
    {"aten.gradient.tensorarrayint", Gradient},
    {"aten.native_dropout_backward.default", DropoutBackward},
};

}  // namespace

absl::Span<const Decomposition> GradientDecompositions() { return kDecompositions; }

}  // namespace belay::exir
