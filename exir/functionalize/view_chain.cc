#include "exir/functionalize/view_chain.h"

#include <optional>
#include <string>
#include <utility>

#include "exir/builder/op_call.h"
#include "exir/builder/op_shorthand.h"
#include "exir/op_definition/op_table.h"
#include "runtime/core/str_cat.h"

namespace belay::exir {
namespace {

struct Write {
  OpBuilder& b;
  const OpCall& call;
  size_t result;
  const Argument& base;
  const Argument& value;
};
using WriteFn = Argument (*)(const Write&);

Argument Whole(const Write& w) { return w.value; }
Argument ReshapeBack(const Write& w) { return Reshape(w.b, w.value, w.b.sizes(w.base)); }

Argument PermuteBack(const Write& w) {
  const std::vector<int64_t> dims = w.call.Ints("dims");
  std::vector<int64_t> inverse(dims.size());
  for (size_t d = 0; d < dims.size(); ++d) inverse[w.b.WrapDim(dims[d], dims.size())] = d;
  return w.b.ok() ? Permute(w.b, w.value, inverse) : Argument();
}
Argument TransposeBack(const Write& w) {
  return Transpose(w.b, w.value, w.call.Int("dim0"), w.call.Int("dim1"));
}
Argument TBack(const Write& w) {
  return w.b.rank(w.value) == 2 ? Transpose(w.b, w.value, 0, 1) : w.value;
}
Argument SelectBack(const Write& w) {
  return w.b.Call("aten.select_scatter.default", {w.base, w.value, w.call["dim"], w.call["index"]});
}
Argument SliceBack(const Write& w) {
  return w.b.Call("aten.slice_scatter.default",
                  {w.base, w.value, w.call["dim"], w.call["start"], w.call["end"], w.call["step"]});
}
Argument NarrowBack(const Write& w) {
  const int64_t dim = w.call.Int("dim");
  SymInt start = w.call.Sym("start");
  if (start.AsInt().value_or(0) < 0) start = start + w.b.size(w.base, dim);
  return w.b.Call("aten.slice_scatter.default",
                  {w.base, w.value, dim, start, start + w.call.Sym("length")});
}
// Only without repeated elements.
Argument ExpandBack(const Write& w) {
  if (w.b.rank(w.base) == w.b.rank(w.value) && w.b.sizes(w.base) == w.b.sizes(w.value)) {
    return w.value;
  }
  if (Product(w.b.sizes(w.base)) == Product(w.b.sizes(w.value))) return ReshapeBack(w);
  w.b.Unsupported("a write to an expanded tensor, whose elements share memory");
  return Argument();
}
// Writes to the pieces of split, split_with_sizes and unbind, by their sizes.
Argument SplitBack(const Write& w) {
  const int64_t dim = w.call.Int("dim");
  SymInt start = 0;
  if (w.call.op()->schema()->ArgumentIndex("split_sizes").has_value()) {
    const std::vector<SymInt> sizes = w.call.SymInts("split_sizes");
    for (size_t i = 0; i < w.result && i < sizes.size(); ++i) start = start + sizes[i];
  } else {
    start = w.call.Sym("split_size") * SymInt(static_cast<int64_t>(w.result));
  }
  return w.b.Call("aten.slice_scatter.default",
                  {w.base, w.value, dim, start, start + w.b.size(w.value, dim)});
}
Argument UnbindBack(const Write& w) {
  return w.b.Call("aten.select_scatter.default",
                  {w.base, w.value, w.call["dim"], static_cast<int64_t>(w.result)});
}
Argument BitsBack(const Write& w) {
  return w.b.Call("aten.view.dtype", {w.value, w.b.dtype(w.base)});
}
Argument RealBack(const Write& w) { return Unary(w.b, "view_as_complex", w.value); }
Argument ComplexBack(const Write& w) { return Unary(w.b, "view_as_real", w.value); }

struct Row {
  std::string_view op;
  WriteFn write;
  // Whether the view maps its elements one-to-one to elements of the base.
  bool picks = true;
};
constexpr Row kInverses[] = {
    {"aten.alias.default", Whole},
    {"aten.detach.default", Whole},
    {"aten.lift_fresh.default", Whole},
    {"aten._reshape_alias.default", ReshapeBack},
    {"aten._unsafe_view.default", ReshapeBack},
    {"aten.view.default", ReshapeBack},
    {"aten.squeeze.default", ReshapeBack},
    {"aten.squeeze.dim", ReshapeBack},
    {"aten.squeeze.dims", ReshapeBack},
    {"aten.unsqueeze.default", ReshapeBack},
    {"aten.permute.default", PermuteBack},
    {"aten.transpose.int", TransposeBack},
    {"aten.t.default", TBack},
    {"aten.select.int", SelectBack},
    {"aten.slice.Tensor", SliceBack},
    {"aten.narrow.default", NarrowBack},
    {"aten.expand.default", ExpandBack, false},
    {"aten.split.Tensor", SplitBack},
    {"aten.split_with_sizes.default", SplitBack},
    {"aten.unbind.int", UnbindBack},
    {"aten.view.dtype", BitsBack, false},
    {"aten.view_as_real.default", RealBack, false},
    {"aten.view_as_complex.default", ComplexBack, false},
};

// Whether the view is an identity.
bool IsAlias(const OpOverload& op) {
  const std::string_view name = op.aten()->name();
  return name == "aten.alias.default" || name == "aten.detach.default" ||
         name == "aten.lift_fresh.default";
}

// Chains up to this length are processed step by step.
constexpr size_t kLongChain = 16;

// Row-major element indices of a tensor, in its shape.
Argument ElementNumbers(OpBuilder& b, const Argument& tensor) {
  const std::vector<SymInt> sizes = b.sizes(tensor);
  return Reshape(b, Arange(b, Product(sizes)), sizes);
}

// Returns `base` with `value` scattered to the elements with these indices.
Argument PutByNumber(OpBuilder& b, const Argument& base, const Argument& numbers,
                     const Argument& value) {
  const Argument flat =
      b.Call("aten.index_put.default",
             {Reshape(b, base, {-1}), Argument(Argument::List{Reshape(b, numbers, {-1})}),
              Reshape(b, value, {-1})});
  return Reshape(b, flat, b.sizes(base));
}

// Writes through views that only select elements (diagonal, as_strided, unfold): the same view of
// the element indices gives the destinations. as_strided indexes memory, so the base must be
// contiguous.
Argument WriteByNumber(const Write& w, const std::vector<Argument>& arguments, size_t operand) {
  OpBuilder& b = w.b;
  const bool strided = w.call.op()->aten() == b.ops().Find("aten.as_strided.default");
  if (strided && !b.meta(w.base).is_contiguous()) {
    b.Unsupported("a write through as_strided to a tensor that is not contiguous");
    return Argument();
  }
  std::vector<Argument> on_numbers = arguments;
  on_numbers[operand] = ElementNumbers(b, w.base);
  std::vector<Argument> viewed = b.CallAll(w.call.op(), std::move(on_numbers));
  if (!b.ok()) return Argument();
  Argument numbers = viewed[0];
  if (const Argument::List* list = viewed[0].get_if<Argument::List>()) numbers = (*list)[w.result];
  return PutByNumber(b, w.base, numbers, w.value);
}

}  // namespace

Argument WriteThroughView(OpBuilder& b, const OpOverload* op,
                          const std::vector<Argument>& arguments, size_t operand, size_t result,
                          const Argument& base, const Argument& value) {
  if (!b.ok()) return Argument();
  const OpCall call(b, op, arguments);
  const Write write{b, call, result, base, value};
  if (const Row* row = OpTable<Row>(b.ops(), kInverses).Find(op)) return row->write(write);
  return WriteByNumber(write, arguments, operand);
}

View::View(View& parent, const OpOverload* op, std::vector<Argument> arguments, size_t operand,
           size_t result, ValueId value)
    : memory_(parent.memory_),
      parent_(&parent),
      op_(op),
      arguments_(std::move(arguments)),
      operand_(operand),
      result_(result),
      current_(value),
      current_version_(memory_->version),
      is_alias_(IsAlias(*op)),
      depth_(parent.depth_ + (is_alias_ ? 0 : 1)) {}

void View::SetCurrent(ValueId value) {
  current_ = value;
  current_version_ = memory_->version;
}

bool View::IsLong(OpBuilder& b) const { return depth_ > kLongChain && Picks(b); }

bool View::Picks(OpBuilder& b) const {
  const OpTable<Row> table(b.ops(), kInverses);
  for (const View* view = this; view->parent_ != nullptr && !view->numbers_.has_value();
       view = view->parent_) {
    const Row* row = table.Find(view->op_);
    if (row == nullptr || !row->picks) return false;
  }
  return true;
}

View& View::Whole() {
  View* view = this;
  while (view->parent_ != nullptr) view = view->parent_;
  return *view;
}

Argument View::Numbers(OpBuilder& b) {
  std::vector<View*> unnumbered;
  View* view = this;
  for (; !view->numbers_.has_value(); view = view->parent_) {
    if (view->parent_ == nullptr) {
      view->numbers_ = ElementNumbers(b, view->current_);
      break;
    }
    unnumbered.push_back(view);
  }
  for (size_t i = unnumbered.size(); i-- > 0 && b.ok();) {
    unnumbered[i]->numbers_ = unnumbered[i]->ApplyView(b, *unnumbered[i]->parent_->numbers_);
  }
  return b.ok() ? *numbers_ : Argument();
}

ValueId View::Current(OpBuilder& b) {
  if (!UpToDate() && IsLong(b)) {
    const Argument numbers = Numbers(b);
    if (!b.ok()) return current_;
    const Argument shown = b.Call("aten.index.Tensor", {Reshape(b, Whole().current_, {-1}),
                                                        Argument(Argument::List{numbers})});
    if (const ValueId* value = shown.get_if<ValueId>()) SetCurrent(*value);
    return current_;
  }
  std::vector<View*> stale;
  for (View* view = this; view->parent_ != nullptr && !view->UpToDate(); view = view->parent_) {
    stale.push_back(view);
  }
  for (size_t i = stale.size(); i-- > 0 && b.ok();) stale[i]->Recompute(b);
  return current_;
}

Argument View::ApplyView(OpBuilder& b, const Argument& parent) const {
  if (is_alias_) return parent;
  std::vector<Argument> arguments = arguments_;
  arguments[operand_] = parent;
  if (op_->aten() == b.ops().Find("aten.view.default")) {
    // The current value may have other strides than the view assumed: reshape.
    const OpCall call(b, op_, std::move(arguments));
    return Reshape(b, call["self"], call["size"]);
  }
  const std::vector<Argument> made = b.CallAll(op_, std::move(arguments));
  if (!b.ok()) return Argument();
  const Argument::List* list = made[0].get_if<Argument::List>();
  return list == nullptr ? made[0] : result_ < list->size() ? (*list)[result_] : Argument();
}

void View::Recompute(OpBuilder& b) {
  const Argument shown = ApplyView(b, parent_->current_);
  if (const ValueId* value = shown.get_if<ValueId>()) SetCurrent(*value);
}

void View::Write(OpBuilder& b, ValueId value) {
  if (IsLong(b)) {
    View& whole = Whole();
    const Argument numbers = Numbers(b);
    const Argument written = PutByNumber(b, whole.current_, numbers, value);
    if (!b.ok()) return;
    ++memory_->version;
    whole.SetCurrent(*written.get_if<ValueId>());
    SetCurrent(value);
    return;
  }
  Current(b);
  std::vector<std::pair<View*, ValueId>> written;
  View* view = this;
  for (; view->parent_ != nullptr; view = view->parent_) {
    written.emplace_back(view, value);
    view->parent_->Current(b);
    const Argument whole = WriteThroughView(b, view->op_, view->arguments_, view->operand_,
                                            view->result_, view->parent_->current_, value);
    if (!b.ok()) return;
    value = *whole.get_if<ValueId>();
  }
  ++memory_->version;
  view->SetCurrent(value);
  for (const auto& [below, below_value] : written) below->SetCurrent(below_value);
}

}  // namespace belay::exir
