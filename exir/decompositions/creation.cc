// Tensors out of sizes and numbers, and conversions.

#include <utility>
#include <vector>

#include "exir/decompositions/families.h"
#include "exir/decompositions/op_shorthand.h"

namespace belay::exir {
namespace {

std::vector<Argument> Eye(OpBuilder& b, const OpCall& c) {
  const SymInt n = c.Sym("n");
  const SymInt m = c.op()->schema()->ArgumentIndex("m").has_value() ? c.Sym("m") : n;
  const DType dtype = c.DtypeOr("dtype", DType::kFloat32);
  const Argument rows = Unsqueeze(b, Arange(b, n), 1);
  return {Cast(b, b.Call("aten.eq.Tensor", {rows, Arange(b, m)}), dtype)};
}

// A conversion that returns its input when it changes nothing.
Argument Convert(OpBuilder& b, const Argument& x, DType dtype, MemoryFormat format, bool copy) {
  if (!copy && b.dtype(x) == dtype && format == MemoryFormat::kPreserve) return x;
  if (b.dtype(x) == dtype) return b.Call("aten.clone.default", {x}, {{"memory_format", format}});
  return b.Call("aten._to_copy.default", {x}, {{"dtype", dtype}, {"memory_format", format}});
}

std::vector<Argument> To(OpBuilder& b, const OpCall& c) {
  const Argument& x = c["self"];
  const bool has_dtype = c.op()->schema()->ArgumentIndex("dtype").has_value();
  const bool has_other = c.op()->schema()->ArgumentIndex("other").has_value();
  const DType dtype = has_other   ? b.dtype(c["other"])
                      : has_dtype ? c.DtypeOr("dtype", b.dtype(x))
                                  : b.dtype(x);
  return {Convert(b, x, dtype, c.MemoryFormatOr("memory_format", MemoryFormat::kPreserve),
                  c.Bool("copy"))};
}

std::vector<Argument> TypeAs(OpBuilder& b, const OpCall& c) {
  return {Cast(b, c["self"], b.dtype(c["other"]))};
}

template <int kValue>
std::vector<Argument> Filled(OpBuilder& b, const OpCall& c) {
  return {Full(b, c["size"], kValue, c.DtypeOr("dtype", DType::kFloat32))};
}
template <int kValue>
std::vector<Argument> FilledLike(OpBuilder& b, const OpCall& c) {
  return {b.Call(
      "aten.full_like.default", {c["self"], kValue},
      {{"dtype", c.DtypeOr("dtype", b.dtype(c["self"]))}, {"memory_format", c["memory_format"]}})};
}
template <int kValue>
std::vector<Argument> NewFilled(OpBuilder& b, const OpCall& c) {
  return {Full(b, c["size"], kValue, c.DtypeOr("dtype", b.dtype(c["self"])))};
}
std::vector<Argument> NewFull(OpBuilder& b, const OpCall& c) {
  return {Full(b, c["size"], c["fill_value"], c.DtypeOr("dtype", b.dtype(c["self"])))};
}

std::vector<Argument> ArangeEnd(OpBuilder& b, const OpCall& c) {
  const bool has_start = c.op()->schema()->ArgumentIndex("start").has_value();
  return {b.Call("aten.arange.start_step", {has_start ? c["start"] : Argument(0), c["end"], 1},
                 {{"dtype", c["dtype"]}})};
}

constexpr Decomposition kDecompositions[] = {
    {"aten.arange.default", ArangeEnd},
    {"aten.arange.start", ArangeEnd},
    {"aten.eye.default", Eye},
    {"aten.eye.m", Eye},
    {"aten.new_full.default", NewFull},
    {"aten.new_ones.default", NewFilled<1>},
    {"aten.new_zeros.default", NewFilled<0>},
    {"aten.ones.default", Filled<1>},
    {"aten.ones_like.default", FilledLike<1>},
    {"aten.to.device", To},
    {"aten.to.dtype", To},
    {"aten.to.dtype_layout", To},
    {"aten.to.other", To},
    {"aten.type_as.default", TypeAs},
    {"aten.zeros.default", Filled<0>},
    {"aten.zeros_like.default", FilledLike<0>},
};

}  // namespace

absl::Span<const Decomposition> CreationDecompositions() { return kDecompositions; }

}  // namespace belay::exir
