// Tensor creation from sizes and scalars, and conversions.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <numbers>
#include <utility>
#include <vector>

#include "exir/builder/op_shorthand.h"
#include "exir/decompositions/families.h"

namespace belay::exir {
namespace {

std::vector<Argument> Eye(OpBuilder& b, const OpCall& c) {
  const SymInt n = c.Sym("n");
  const SymInt m = c.op()->schema()->ArgumentIndex("m").has_value() ? c.Sym("m") : n;
  const DType dtype = c.DtypeOr("dtype", DType::kFloat32);
  const Argument rows = Unsqueeze(b, Arange(b, n), 1);
  return {Cast(b, b.Call("aten.eq.Tensor", {rows, Arange(b, m)}), dtype)};
}

// Converts x; returns it unchanged if the conversion is an identity.
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

std::vector<Argument> NewEmptyStrided(OpBuilder& b, const OpCall& c) {
  return {b.Call("aten.empty_strided.default", {c["size"], c["stride"]},
                 {{"dtype", c.DtypeOr("dtype", b.dtype(c["self"]))}})};
}

std::vector<Argument> ArangeEnd(OpBuilder& b, const OpCall& c) {
  const bool has_start = c.op()->schema()->ArgumentIndex("start").has_value();
  return {b.Call("aten.arange.start_step", {has_start ? c["start"] : Argument(0), c["end"], 1},
                 {{"dtype", c["dtype"]}})};
}

// Unspecified values in the given dimension order.
std::vector<Argument> EmptyPermuted(OpBuilder& b, const OpCall& c) {
  const std::vector<SymInt> sizes = c.SymInts("size");
  const std::vector<int64_t> layout = c.Ints("physical_layout");
  if (b.ok() && layout.size() != sizes.size())
    b.Invalid("empty_permuted: a layout of another rank");
  std::vector<SymInt> physical;
  std::vector<int64_t> place(sizes.size(), -1);
  for (size_t i = 0; i < layout.size() && b.ok(); ++i) {
    const int64_t dim = b.WrapDim(layout[i], static_cast<int64_t>(sizes.size()));
    if (!b.ok()) break;
    if (place[dim] >= 0) b.Invalid("empty_permuted: the layout is not a permutation");
    place[dim] = static_cast<int64_t>(i);
    physical.push_back(sizes[dim]);
  }
  if (!b.ok()) return {};
  const Argument memory = Full(b, physical, 0, c.DtypeOr("dtype", DType::kFloat32));
  return {physical == sizes ? memory : Permute(b, memory, place)};
}

// Unlike arange, includes the end.
std::vector<Argument> Range(OpBuilder& b, const OpCall& c) {
  const bool has_step = c.op()->schema()->ArgumentIndex("step").has_value();
  const DType dtype = c.DtypeOr("dtype", DType::kFloat32);
  const bool integers = IsIntegral(dtype, /*include_bool=*/true);
  // Integer dtypes use integer start and step.
  const auto number = [&](const Argument& given) {
    return integers ? NumberIn(b, given, DType::kInt64) : given;
  };
  const auto real = [&](const Argument& given, double otherwise) {
    const int64_t* integer = given.get_if<int64_t>();
    return integer != nullptr ? static_cast<double>(*integer) : otherwise;
  };
  const Argument first = number(c["start"]), by = has_step ? number(c["step"]) : Argument(1);
  const double start = real(first, c.Double("start"));
  const double end = real(number(c["end"]), c.Double("end"));
  const double step = real(by, has_step ? c.Double("step") : 1);
  if (b.ok() && (step == 0 || (end - start) / step < 0)) {
    b.Invalid("range: the step does not lead to the end");
  }
  if (!b.ok()) return {};
  const double steps = std::floor((end - start) / step);
  if (!(steps < 1e9)) b.Invalid("range: too many steps");
  if (!b.ok()) return {};
  const DType compute = integers ? DType::kInt64 : DType::kFloat64;
  const Argument index = Cast(b, Arange(b, SymInt(static_cast<int64_t>(steps) + 1)), compute);
  return {Cast(b, Add(b, Mul(b, index, by), first), dtype)};
}

// Row and column indices of the elements on one side of a diagonal, in row-major order. The k-th
// element is in the row in which the cumulative count exceeds k.
template <bool kUpper>
std::vector<Argument> TriangleIndices(OpBuilder& b, const OpCall& c) {
  const int64_t rows = c.Int("row"), columns = c.Int("col"), offset = c.Int("offset");
  constexpr int64_t kMost = int64_t{1} << 24;
  if (rows < 0 || columns < 0) b.Invalid("a matrix of negative size");
  if (rows > kMost || columns > kMost || offset > kMost || offset < -kMost) {
    b.Invalid("a matrix too large");
  }
  if (!b.ok()) return {};
  // Row i has clamp(i + shift, 0, columns) elements on the lower side: none at first, then one more
  // in each row, then all.
  const int64_t shift = offset + (kUpper ? 0 : 1);
  const int64_t first = std::clamp<int64_t>(-shift, 0, rows);
  const int64_t last = std::clamp<int64_t>(columns - shift, first, rows);
  const int64_t lower =
      (last - first) * (first + last - 1 + 2 * shift) / 2 + (rows - last) * columns;
  const int64_t total = kUpper ? rows * columns - lower : lower;
  const DType dtype = c.DtypeOr("dtype", DType::kInt64);
  if (total == 0) return {Full(b, {SymInt(2), SymInt(0)}, 0, dtype)};
  const Argument row = Arange(b, SymInt(rows));
  const Argument below = Clamp(b, Add(b, row, shift), 0, columns);
  const Argument counts = kUpper ? NumberMinus(b, columns, below) : below;
  const Argument ends = b.Call("aten.cumsum.default", {counts, 0});
  const Argument places = Arange(b, SymInt(total));
  const Argument at = b.Call("aten.searchsorted.Tensor", {ends, places}, {{"right", true}});
  Argument starts = Sub(b, ends, counts);
  if (kUpper) starts = Sub(b, starts, below);
  const Argument column = Sub(b, places, b.Call("aten.index_select.default", {starts, 0, at}));
  return {Cast(b, Cat(b, {Unsqueeze(b, at, 0), Unsqueeze(b, column, 0)}, 0), dtype)};
}

// --- Complex numbers from their parts ---

Argument ComplexOf(OpBuilder& b, const Argument& real, const Argument& imaginary) {
  const std::vector<SymInt> sizes = BroadcastSizes(b, {real, imaginary});
  const auto part = [&](const Argument& x) {
    return Unsqueeze(b, b.sizes(x) == sizes ? x : Expand(b, x, sizes), -1);
  };
  const Argument pairs = Cat(b, {part(real), part(imaginary)}, static_cast<int64_t>(sizes.size()));
  return b.Call("aten.view_as_complex.default", {pairs});
}
std::vector<Argument> Complex(OpBuilder& b, const OpCall& c) {
  return {ComplexOf(b, c["real"], c["imag"])};
}
std::vector<Argument> Polar(OpBuilder& b, const OpCall& c) {
  const Argument &size = c["abs"], &angle = c["angle"];
  return {ComplexOf(b, Mul(b, size, Unary(b, "cos", angle)), Mul(b, size, Unary(b, "sin", angle)))};
}

// --- Frequencies ---

template <bool kReal>
std::vector<Argument> FrequencyBins(OpBuilder& b, const OpCall& c) {
  const int64_t n = c.Int("n");
  const double d = c.Double("d");
  if (n < 1) b.Invalid("fftfreq: expected at least one bin");
  if (!b.ok()) return {};
  const DType dtype = c.DtypeOr("dtype", DType::kFloat32);
  Argument index = Arange(b, SymInt(kReal ? n / 2 + 1 : n));
  if (!kReal) index = Where(b, Binary(b, "lt", index, n / 2 + n % 2), index, Sub(b, index, n));
  return {Mul(b, Cast(b, index, dtype), 1 / (static_cast<double>(n) * d))};
}

// --- Evenly spaced numbers ---

// Compute dtype of PyTorch for this dtype.
DType StepDtype(DType dtype) {
  return IsIntegral(dtype, true) ? DType::kFloat64 : ComputeDtype(dtype);
}
// `steps` numbers from `start` to `end`, computed from the nearer end. Either may be a
// 0-dimensional tensor. Integer dtypes use integer ends.
Argument LinearSteps(OpBuilder& b, const OpCall& c, DType dtype) {
  const DType compute = StepDtype(dtype);
  const int64_t steps = c.Int("steps");
  if (steps < 0) b.Invalid("linspace: the number of steps is negative");
  const auto value = [&](std::string_view name) {
    const bool integers = IsIntegral(dtype, /*include_bool=*/true);
    const bool constant = c[name].get_if<ValueId>() == nullptr;
    if (constant) return NumberIn(b, c[name], dtype);
    // A tensor, or a number that is computed from sizes.
    const Argument given =
        b.IsTensor(c[name]) ? c[name] : ScalarTensor(b, c[name], integers ? dtype : compute);
    return Cast(b, integers ? Cast(b, given, dtype) : given, compute);
  };
  const Argument start = value("start"), end = value("end");
  if (!b.ok()) return Argument();
  if (steps <= 1) {
    const Argument result =
        Full(b, {SymInt(steps)}, b.IsTensor(start) ? Argument(0) : start, compute);
    return b.IsTensor(start) ? Add(b, result, start) : result;
  }
  const Argument index = Cast(b, Arange(b, SymInt(steps)), compute);
  const Argument rest = NumberMinus(b, steps - 1, index);
  const Argument first_half = Binary(b, "lt", index, static_cast<double>(steps) / 2);
  if (!b.IsTensor(start) && !b.IsTensor(end)) {
    const auto real = [](const Argument& number, double otherwise) {
      const int64_t* integer = number.get_if<int64_t>();
      return integer == nullptr ? otherwise : static_cast<double>(*integer);
    };
    const double from = real(start, c.Double("start")), to = real(end, c.Double("end"));
    const double step = (to - from) / static_cast<double>(steps - 1);
    return Where(b, first_half, Add(b, Mul(b, index, step), from),
                 NumberMinus(b, to, Mul(b, rest, step)));
  }
  const auto as_tensor = [&](const Argument& x) {
    return b.IsTensor(x) ? x : ScalarTensor(b, x, compute);
  };
  const Argument from = as_tensor(start), to = as_tensor(end);
  const Argument step = Div(b, Sub(b, to, from), steps - 1);
  return Where(b, first_half, Add(b, Mul(b, index, step), from), Sub(b, to, Mul(b, rest, step)));
}
std::vector<Argument> LinSpace(OpBuilder& b, const OpCall& c) {
  const DType dtype = c.DtypeOr("dtype", DType::kFloat32);
  return {Cast(b, LinearSteps(b, c, dtype), dtype)};
}
std::vector<Argument> LogSpace(OpBuilder& b, const OpCall& c) {
  const DType dtype = c.DtypeOr("dtype", DType::kFloat32);
  const Argument exponents = LinearSteps(b, c, dtype);
  return {Cast(b, b.Call("aten.pow.Scalar", {c["base"], exponents}), dtype)};
}

// --- Windows ---

// a - b cos(t) + c cos(2 t) over a period; includes its end unless `periodic`.
Argument CosineWindow(OpBuilder& b, const OpCall& call, double first, double second, double third) {
  const int64_t length = call.Int("window_length");
  const bool periodic =
      !call.op()->schema()->ArgumentIndex("periodic").has_value() || call.Bool("periodic");
  const DType dtype = call.DtypeOr("dtype", DType::kFloat32), compute = ComputeDtype(dtype);
  if (length < 0) b.Invalid("the window's length is negative");
  if (!b.ok()) return Argument();
  if (length <= 1) return Full(b, {SymInt(length)}, 1.0, dtype);
  const double turn = 2 * std::numbers::pi / static_cast<double>(periodic ? length : length - 1);
  const Argument angle = Mul(b, Cast(b, Arange(b, SymInt(length)), compute), turn);
  Argument window = NumberMinus(b, first, Mul(b, Unary(b, "cos", angle), second));
  if (third != 0) window = Add(b, window, Mul(b, Unary(b, "cos", Mul(b, angle, 2)), third));
  return Cast(b, window, dtype);
}
std::vector<Argument> HannWindow(OpBuilder& b, const OpCall& c) {
  return {CosineWindow(b, c, 0.5, 0.5, 0)};
}
std::vector<Argument> HammingWindow(OpBuilder& b, const OpCall& c) {
  const auto number = [&](std::string_view name, double fallback) {
    return c.op()->schema()->ArgumentIndex(name).has_value() ? c.Double(name) : fallback;
  };
  return {CosineWindow(b, c, number("alpha", 0.54), number("beta", 0.46), 0)};
}
std::vector<Argument> BlackmanWindow(OpBuilder& b, const OpCall& c) {
  return {CosineWindow(b, c, 0.42, 0.5, 0.08)};
}

// If `periodic`, has `length` + 1 points and drops the last.
struct OpenWindow {
  int64_t length = 0;
  double last = 0;  // position of the last point
  DType dtype = DType::kFloat32, compute = DType::kFloat32;
};
OpenWindow WindowOf(OpBuilder& b, const OpCall& c) {
  OpenWindow window;
  window.length = c.Int("window_length");
  const bool periodic =
      !c.op()->schema()->ArgumentIndex("periodic").has_value() || c.Bool("periodic");
  window.last = static_cast<double>(window.length) - (periodic ? 0 : 1);
  window.dtype = c.DtypeOr("dtype", DType::kFloat32);
  window.compute = ComputeDtype(window.dtype);
  if (window.length < 0) b.Invalid("the window's length is negative");
  return window;
}
std::vector<Argument> BartlettWindow(OpBuilder& b, const OpCall& c) {
  const OpenWindow window = WindowOf(b, c);
  if (!b.ok()) return {};
  if (window.length <= 1) return {Full(b, {SymInt(window.length)}, 1.0, window.dtype)};
  const Argument index = Cast(b, Arange(b, SymInt(window.length)), window.compute);
  const Argument rising = Mul(b, index, 2 / window.last);
  const Argument first = Binary(b, "le", index, std::floor(window.last / 2));
  return {Cast(b, Where(b, first, rising, NumberMinus(b, 2.0, rising)), window.dtype)};
}
std::vector<Argument> KaiserWindow(OpBuilder& b, const OpCall& c) {
  const OpenWindow window = WindowOf(b, c);
  const double beta = c.op()->schema()->ArgumentIndex("beta").has_value() ? c.Double("beta") : 12.0;
  if (!b.ok()) return {};
  if (window.length <= 1) return {Full(b, {SymInt(window.length)}, 1.0, window.dtype)};
  const Argument index = Cast(b, Arange(b, SymInt(window.length)), window.compute);
  const Argument place = Sub(b, Mul(b, index, 2 / window.last), 1.0);
  const Argument root = Unary(b, "sqrt", Clamp(b, NumberMinus(b, 1.0, Mul(b, place, place)), 0, 1));
  const Argument top = Unary(b, "i0", Mul(b, root, beta));
  const Argument whole = Unary(b, "i0", ScalarTensor(b, beta, window.compute));
  return {Cast(b, Div(b, top, whole), window.dtype)};
}

// --- Identities ---

std::vector<Argument> ContiguousIn(OpBuilder& b, const OpCall& c) {
  const Argument& x = c["self"];
  const MemoryFormat format = c.MemoryFormatOr("memory_format", MemoryFormat::kContiguous);
  if (format == MemoryFormat::kPreserve) b.Invalid("contiguous: preserve is not a format");
  if (format == MemoryFormat::kContiguous) return {Contiguous(b, x)};
  // Returns x itself if it has this layout already.
  const Argument copy = b.Call("aten.clone.default", {x}, {{"memory_format", format}});
  return {b.ok() && b.meta(copy).strides == b.meta(x).strides ? x : copy};
}
std::vector<Argument> Copied(OpBuilder& b, const OpCall& c) { return {Clone(b, c["self"])}; }
std::vector<Argument> ToDense(OpBuilder& b, const OpCall& c) {
  return {Cast(b, c["self"], c.DtypeOr("dtype", b.dtype(c["self"])))};
}
std::vector<Argument> Zeroed(OpBuilder& b, const OpCall& c) {
  return {b.Call("aten.full_like.default", {c["self"], 0})};
}

// --- Properties as scalars ---

std::vector<Argument> SizeOf(OpBuilder& b, const OpCall& c) {
  return {b.Size(b.size(c["self"], c.Int("dim")))};
}
std::vector<Argument> NumberOfElements(OpBuilder& b, const OpCall& c) {
  return {b.Size(b.meta(c["self"]).NumElements())};
}
std::vector<Argument> NumberOfDimensions(OpBuilder& b, const OpCall& c) {
  return {Argument(b.rank(c["self"]))};
}
std::vector<Argument> IsFloating(OpBuilder& b, const OpCall& c) {
  return {Argument(IsFloatingPoint(b.dtype(c["self"])))};
}
std::vector<Argument> IsComplexNumber(OpBuilder& b, const OpCall& c) {
  return {Argument(IsComplex(b.dtype(c["self"])))};
}

// Queries that tracing evaluated to constants; archives have such nodes without results.
std::vector<Argument> Answered(OpBuilder&, const OpCall&) { return {}; }

constexpr Decomposition kDecompositions[] = {
    {"aten.arange.default", ArangeEnd},
    {"aten.arange.start", ArangeEnd},
    {"aten.bartlett_window.default", BartlettWindow},
    {"aten.bartlett_window.periodic", BartlettWindow},
    {"aten.blackman_window.default", BlackmanWindow},
    {"aten.blackman_window.periodic", BlackmanWindow},
    {"aten.complex.default", Complex},
    {"aten.contiguous.default", ContiguousIn},
    {"aten.detach.default", Identity},
    {"aten.dim.default", NumberOfDimensions},
    {"aten.empty_permuted.default", EmptyPermuted},
    {"aten.eye.default", Eye},
    {"aten.eye.m", Eye},
    {"aten.fft_fftfreq.default", FrequencyBins<false>},
    {"aten.fft_rfftfreq.default", FrequencyBins<true>},
    {"aten.hamming_window.default", HammingWindow},
    {"aten.hamming_window.periodic", HammingWindow},
    {"aten.hamming_window.periodic_alpha", HammingWindow},
    {"aten.hamming_window.periodic_alpha_beta", HammingWindow},
    {"aten.hann_window.default", HannWindow},
    {"aten.hann_window.periodic", HannWindow},
    {"aten.is_complex.default", IsComplexNumber},
    {"aten.is_floating_point.default", IsFloating},
    {"aten.item.default", Same<"aten._local_scalar_dense.default">},
    {"aten.kaiser_window.beta", KaiserWindow},
    {"aten.kaiser_window.default", KaiserWindow},
    {"aten.kaiser_window.periodic", KaiserWindow},
    {"aten.lift_fresh.default", Identity},
    {"aten.lift_fresh_copy.default", Copied},
    {"aten.linspace.Scalar_Tensor", LinSpace},
    {"aten.linspace.Tensor_Scalar", LinSpace},
    {"aten.linspace.Tensor_Tensor", LinSpace},
    {"aten.linspace.default", LinSpace},
    {"aten.logspace.Scalar_Tensor", LogSpace},
    {"aten.logspace.Tensor_Scalar", LogSpace},
    {"aten.logspace.Tensor_Tensor", LogSpace},
    {"aten.logspace.default", LogSpace},
    {"aten.new_empty_strided.default", NewEmptyStrided},
    {"aten.new_full.default", NewFull},
    {"aten.new_ones.default", NewFilled<1>},
    {"aten.new_zeros.default", NewFilled<0>},
    {"aten.numel.default", NumberOfElements},
    {"aten.ones.default", Filled<1>},
    {"aten.ones_like.default", FilledLike<1>},
    {"aten.polar.default", Polar},
    {"aten.range.default", Range},
    {"aten.range.step", Range},
    {"aten.size.int", SizeOf},
    {"aten.to.device", To},
    {"aten.to.dtype", To},
    {"aten.to.dtype_layout", To},
    {"aten.to.other", To},
    {"aten._to_dense.default", ToDense},
    {"aten.to_dense.default", ToDense},
    {"aten.result_type.Scalar", Answered},
    {"aten.result_type.Scalar_Scalar", Answered},
    {"aten.result_type.Scalar_Tensor", Answered},
    {"aten.result_type.Tensor", Answered},
    {"aten.tril_indices.default", TriangleIndices<false>},
    {"aten.triu_indices.default", TriangleIndices<true>},
    {"aten.type_as.default", TypeAs},
    {"aten.zero.default", Zeroed},
    {"aten.zeros.default", Filled<0>},
    {"aten.zeros_like.default", FilledLike<0>},
};

}  // namespace

absl::Span<const Decomposition> CreationDecompositions() { return kDecompositions; }

}  // namespace belay::exir
