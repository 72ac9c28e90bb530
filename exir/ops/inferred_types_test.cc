// Tests of meta kernels beyond the conformance cases: symbolic arguments, omitted arguments, and
// error messages.
#include "exir/ops/testing/inferred_call.h"
#include "gtest/gtest.h"

namespace belay::exir {
namespace {

// --- Scalars ---

TEST(InferredTypesTest, FoldsConstantScalars) {
  ExpectInferred({
      {"_operator.add(2, 3)", "symint(5)"},
      {"_operator.add(2, 0.5)", "symfloat(2.5)"},
      {"_operator.add(true, true)", "symint(2)"},
      {"_operator.eq(2, 2.0)", "symbool(true)"},
      {"_operator.and_(true, false)", "symbool(false)"},
      {"_operator.and_(6, 3)", "symint(2)"},
      {"_operator.floordiv(-7, 2)", "symint(-4)"},
      {"_operator.truediv(1, 4)", "symfloat(0.25)"},
      {"_operator.pow(2, 10)", "symint(1024)"},
      {"math.ceil(2.5)", "symint(3)"},
      {"math.floor(-2.5)", "symint(-3)"},
      {"math.trunc(-2.5)", "symint(-2)"},
      {"torch.sym_float(3)", "symfloat(3.0)"},
      {"torch.sym_int(3.75)", "symint(3)"},
      {"torch.sym_ite(false, 1, 2)", "symint(2)"},
      {"torch.sym_not(0)", "symbool(true)"},
      {"torch.sym_sqrt(16)", "symfloat(4.0)"},
  });
}

TEST(InferredTypesTest, SymbolsBecomeExpressions) {
  ExpectInferred({
      {"_operator.add(%n, 3)", "symint(s0 + 3)"},
      {"_operator.sub(%n, %n)", "symint(0)"},
      {"_operator.mul(%n, %k)", "symint(s0*s1)"},
      {"_operator.neg(%n)", "symint(-s0)"},
      {"_operator.pos(%n)", "symint(s0)"},
      {"_operator.pow(%n, 2)", "symint(s0**2)"},
      {"_operator.pow(%f, 2)", "symfloat(FloatPow(ToFloat(s0), 2))"},
      {"_operator.pow(%n, 0.5)", "symfloat(FloatPow(s0, 0.5))"},
      {"_operator.truediv(%n, 2)", "symfloat(IntTrueDiv(s0, 2))"},
      {"_operator.truediv(%f, 2)", "symfloat(FloatTrueDiv(ToFloat(s0), 2))"},
      {"_operator.floordiv(%n, 2)", "symint(FloorDiv(s0, 2))"},
      {"_operator.mod(%n, 2)", "symint(PythonMod(s0, 2))"},
      {"_operator.lshift(%n, 2)", "symint(LShift(s0, 2))"},
      {"_operator.rshift(%n, 2)", "symint(RShift(s0, 2))"},
      {"_operator.and_(%n, 6)", "symint(BitwiseFn_bitwise_and(s0, 6))"},
      {"_operator.or_(%n, 6)", "symint(BitwiseFn_bitwise_or(s0, 6))"},
      {"_operator.and_(%q, true)", "symbool(Eq(s0, 3))"},
      {"_operator.or_(%q, false)", "symbool(Eq(s0, 3))"},
      {"_operator.and_(%q, 6)", "symint(BitwiseFn_bitwise_and(Where(Eq(s0, 3), 1, 0), 6))"},
      {"_operator.or_(6, %q)", "symint(BitwiseFn_bitwise_or(6, Where(Eq(s0, 3), 1, 0)))"},
      {"_operator.add(%q, 1)", "symint(Where(Eq(s0, 3), 1, 0) + 1)"},
      {"_operator.add(%n, true)", "symint(s0 + 1)"},
      {"_operator.lt(%n, 3)", "symbool(Lt(s0, 3))"},
      {"_operator.le(%n, 3)", "symbool(Le(s0, 3))"},
      {"_operator.gt(%n, 3)", "symbool(Gt(s0, 3))"},
      {"_operator.ge(%n, 3)", "symbool(Ge(s0, 3))"},
      {"_operator.eq(%n, 3)", "symbool(Eq(s0, 3))"},
      {"_operator.ne(%n, 3)", "symbool(Ne(s0, 3))"},
      {"math.ceil(%f)", "symint(CeilToInt(ToFloat(s0)))"},
      {"math.floor(%f)", "symint(FloorToInt(ToFloat(s0)))"},
      {"math.trunc(%f)", "symint(TruncToInt(ToFloat(s0)))"},
      {"math.ceil(%n)", "symint(s0)"},
      {"math.floor(%q)", "symint(Where(Eq(s0, 3), 1, 0))"},
      {"torch.sym_int(%f)", "symint(TruncToInt(ToFloat(s0)))"},
      {"torch.sym_int(%n)", "symint(s0)"},
      {"torch.sym_float(%n)", "symfloat(ToFloat(s0))"},
      {"torch.sym_float(%f)", "symfloat(ToFloat(s0))"},
      {"torch.sym_not(%q)", "symbool(Ne(s0, 3))"},
      {"torch.sym_not(%n)", "symbool(Eq(s0, 0))"},
      {"torch.sym_sqrt(%n)", "symfloat(OpaqueUnaryFn_sqrt(ToFloat(s0)))"},
      {"torch.sym_sqrt(%f)", "symfloat(OpaqueUnaryFn_sqrt(ToFloat(s0)))"},
      {"torch.sym_max(%n, 3)", "symint(Max(3, s0))"},
      {"torch.sym_min(%n, %k)", "symint(Min(s0, s1))"},
      {"torch.sym_ite(%q, %n, 7)", "symint(Where(Eq(s0, 3), s0, 7))"},
      {"torch.sym_ite(%n, 1, 7)", "symint(Where(Ne(s0, 0), 1, 7))"},
  });
}

TEST(InferredTypesTest, RejectsNonNumbers) {
  ExpectInferred({
      {"_operator.add(\"a\", 1)", "_operator::add.default: argument 'a': expected a real number"},
      {"_operator.add(1, none)", "_operator::add.default: argument 'b': expected a real number"},
      {"_operator.floordiv(%n, 0)", "_operator::floordiv.default: argument 'b': division by zero"},
      {"_operator.mod(%n, 0)", "_operator::mod.default: argument 'b': division by zero"},
      {"_operator.truediv(%n, false)",
       "_operator::truediv.default: argument 'b': division by zero"},
      {"_operator.truediv(%n, 0.0)", "_operator::truediv.default: argument 'b': division by zero"},
  });
}

// --- Properties and assertions ---

TEST(InferredTypesTest, PropertiesOfTensors) {
  ExpectInferred({
      {"aten.sym_size.int(%s, 0)", "symint(s0)"},
      {"aten.sym_size.int(%s, -1)", "symint(3)"},
      {"aten.sym_stride.int(%t, 0)", "symint(s0)"},
      {"aten.sym_numel.default(%t)", "symint(s0*s1)"},
      {"aten.sym_storage_offset.default(%x)", "symint(0)"},
      {"aten.sym_is_contiguous.default(%im)", "symbool(true)"},
      {"aten.sym_is_contiguous.default(%cl)", "symbool(false)"},
      {"aten.sym_is_contiguous.default(%cl, memory_format=format:preserve)", "symbool(false)"},
      {"aten.sym_is_contiguous.default(%cl, memory_format=format:channels_last)", "symbool(true)"},
      {"aten.sym_is_contiguous.default(%im, memory_format=format:channels_last)", "symbool(false)"},
      {"aten.sym_is_contiguous.default(%x, memory_format=format:channels_last)", "symbool(false)"},
      {"aten.sym_is_contiguous.default(%cl, memory_format=format:channels_last_3d)",
       "symbool(false)"},
  });
}

TEST(InferredTypesTest, ElementsAreSymbolsOfTheirDtypes) {
  ExpectInferred({
      {"aten._local_scalar_dense.default(%c)", "symfloat(ToFloat(u0)); u0 from -inf to inf"},
      {"aten._local_scalar_dense.default(%e)",
       "aten::_local_scalar_dense.default: argument 'self': expected an element, got none"},
  });
}

TEST(InferredTypesTest, AssertionsThatAlwaysFailAreErrors) {
  ExpectInferred({
      {"aten._assert_scalar.default(%q, \"three\")", ""},
      {"aten._assert_scalar.default(1, \"three\")", ""},
      {"aten._assert_scalar.default(false, \"three\")",
       "aten::_assert_scalar.default: always fails: three"},
      {"aten._assert_scalar.default(0.0, \"three\")",
       "aten::_assert_scalar.default: always fails: three"},
      {"aten._assert_scalar.default((1+2j), \"three\")",
       "aten::_assert_scalar.default: argument 'self': expected a real number"},
      {"aten._assert_scalar.default(\"x\", \"three\")",
       "aten::_assert_scalar.default: argument 'self': expected a scalar, got string 'x'"},
      {"aten._assert_tensor_metadata.default(%x)", ""},
      {"aten._assert_tensor_metadata.default(%x, [2,3], none, dtype:f32)", ""},
      {"aten._assert_tensor_metadata.default(%s, [2,3])", ""},
      {"aten._assert_tensor_metadata.default(%x, [%n,3])", ""},
      {"aten._assert_tensor_metadata.default(%x, [2,4])",
       "aten::_assert_tensor_metadata.default: argument 'a': expected sizes [2,4], got [2,3]"},
      {"aten._assert_tensor_metadata.default(%x, [2])",
       "aten::_assert_tensor_metadata.default: argument 'a': expected sizes [2], got [2,3]"},
      {"aten._assert_tensor_metadata.default(%x, dtype=dtype:f64)",
       "aten::_assert_tensor_metadata.default: argument 'a': expected dtype float64, got float32"},
      {"aten.sym_constrain_range.default(%n, min=3)", ""},
      {"aten.sym_constrain_range.default(4, min=3, max=4)", ""},
      {"aten.sym_constrain_range.default(4)", ""},
      {"aten.sym_constrain_range.default(2, min=3)",
       "aten::sym_constrain_range.default: argument 'size': 2 is below 3"},
      {"aten.sym_constrain_range_for_size.default(5, max=4)",
       "aten::sym_constrain_range_for_size.default: argument 'size': 5 is above 4"},
  });
}

// --- Ranges and other creation operators ---

TEST(InferredTypesTest, LengthsOfRanges) {
  ExpectInferred({
      {"aten.arange.default(5)", "i64[5]"},
      {"aten.arange.default(5.5)", "f32[6]"},
      {"aten.arange.default(true)", "i64[1]"},
      {"aten.arange.default(%n)", "i64[s0]"},
      {"aten.arange.start(2, %n)", "i64[s0 - 2]"},
      {"aten.arange.start_step(0, %n, 2)", "i64[FloorDiv(s0 + 1, 2)]"},
      {"aten.arange.start_step(%n, 0, -1)", "i64[s0]"},
      {"aten.arange.start_step(9, 0, %n)", "i64[CeilDiv(-9, s0)]"},
      {"aten.arange.start_step(0, %n, 0)", "aten::arange.start_step: the step must not be zero"},
      {"aten.arange.start_step(0, %n, 0.5)", "f32[CeilToInt(FloatTrueDiv(s0, 0.5))]"},
      {"aten.arange.start_step(0, %q, 1)", "aten::arange.start_step: a range must be of numbers"},
      {"aten.arange.default(%f)", "f32[CeilToInt(FloatTrueDiv(ToFloat(s0), 1))]"},
      {"aten.arange.start_step(0, 5, 0)", "aten::arange.start_step: the step must not be zero"},
      {"aten.arange.default(5, layout=layout:sparse_coo)",
       "aten::arange: only strided tensors are supported"},
      {"aten.full.default([2,%n], 1.5)", "f32[2,s0]"},
      {"aten.full.default([2,-1], 1.5)",
       "aten::full.default: argument 'size': size -1 at dimension 1"},
      {"aten.empty.memory_format([2,3,4,5], memory_format=format:channels_last)",
       "f32[2,3,4,5]{strides=[60,1,15,3]}"},
      {"aten.empty.memory_format([2,3], memory_format=format:channels_last)",
       "aten::empty.memory_format: channels_last: expected 4 dimensions, got 2"},
      {"aten.empty.memory_format([2,3,4], memory_format=format:channels_last_3d)",
       "aten::empty.memory_format: channels_last_3d: expected 5 dimensions, got 3"},
      {"aten.empty.memory_format([2,3], memory_format=format:preserve)",
       "aten::empty.memory_format: expected a memory format other than preserve"},
  });
}

TEST(InferredTypesTest, CopiesAndConcatenations) {
  ExpectInferred({
      {"aten.clone.default(%cl)", "f32[2,3,4,5]{strides=[60,1,15,3]}"},
      {"aten.clone.default(%cl, memory_format=format:contiguous)", "f32[2,3,4,5]"},
      {"aten._to_copy.default(%x, dtype=dtype:i64)", "i64[2,3]"},
      {"aten._to_copy.default(%x, layout=layout:sparse_coo)",
       "layout: only strided tensors are supported"},
      {"aten._to_copy.default(%x, memory_format=format:channels_last)",
       "channels_last: expected 4 dimensions, got 2"},
      {"aten.cat.default([%x,%y])", "f32[6,3]"},
      {"aten.cat.default([%x,%s])", "f32[s0 + 2,3]"},
      {"aten.cat.default([%x,%h,%i], 0)",
       "cat: operand 2 of shape [3] does not fit [4,3] along dimension 0"},
      {"aten.cat.default([%cl,%cl], 1)", "f32[2,6,4,5]{strides=[120,1,30,6]}"},
      {"aten.cat.default([%cl,%im], 1)", "f32[2,6,4,5]"},
      {"aten.reflection_pad2d.default(%cl, [1,1,1,1])", "f32[2,3,6,7]{strides=[126,1,21,3]}"},
      {"aten.reflection_pad2d.default(%im, [1,1,1,1])", "f32[2,3,6,7]"},
      {"aten.stack.default([%x,%x], -1)", "f32[2,3,2]"},
      {"aten.stack.default([%x,%x], 3)", "dim 3 is out of range [-3, 2]"},
      {"aten.stack.default([%x,%y])", "stack: shapes [4,3] and [2,3] differ"},
      {"aten.stack.default([])", "stack: expected at least one tensor"},
      {"aten.repeat_interleave.self_int(%x, 2)", "f32[12]"},
      {"aten.repeat_interleave.self_int(%x, -2)", "repeat_interleave: repeats is negative"},
      {"aten.repeat_interleave.self_int(%x, %n, 1)", "f32[2,3*s0]"},
      {"aten.repeat_interleave.self_int(%x, 2, 1, output_size=6)", "f32[2,6]"},
      {"aten.repeat_interleave.self_int(%x, 2, 1, output_size=5)",
       "repeat_interleave: output_size is 5, expected 6"},
      {"aten.roll.default(%cl, [1], [1])", "f32[2,3,4,5]{strides=[60,1,15,3]}"},
      {"aten.roll.default(%cl, [1], [0])", "f32[2,3,4,5]{strides=[60,1,15,3]}"},
      {"aten.roll.default(%e, [1], [7])", "f32[0,3]"},
      {"aten.resize_.default(%x, [6])", "f32[6]"},
      {"aten.resize_.default(%x, [2,3])", "f32[2,3]"},
      {"aten.resize_.default(%x, [-6])", "resize_: negative size in [-6]"},
      {"aten.flip.default(%cl, [0])", "f32[2,3,4,5]{strides=[60,1,15,3]}"},
  });
}

TEST(InferredTypesTest, Arithmetic) {
  ExpectInferred({
      {"aten.sub.Tensor(%x, %b)",
       "aten::sub.Tensor: argument 'other': bool can't be subtracted: use logical_xor"},
      {"aten.sub.Tensor(%b, %x)",
       "aten::sub.Tensor: argument 'self': bool can't be subtracted: use logical_xor"},
      {"aten.sub.Tensor(%x, none)",
       "aten::sub.Tensor: argument 'other': expected a tensor or a number, got none"},
      {"aten.pow.Scalar(2, %x)", "f32[2,3]"},
      {"aten.pow.Scalar(%q, %x)", "f32[2,3]"},
      {"aten.masked_fill.Scalar(%x, %m, 1)",
       "aten::masked_fill.Scalar: shapes [2,3] and [2] do not broadcast: sizes 3 and 2 at "
       "dimension 1"},
      {"aten.masked_fill.Scalar(%x, %b, 1)", "f32[2,3]"},
      {"aten.fill.Scalar(%x, \"a\")",
       "aten::fill.Scalar: argument 'value': expected a scalar, got string 'a'"},
      {"aten.fill_.Scalar(%ex, 1)", "operator aten.fill_.Scalar has no meta kernel"},
      {"aten.add_.Tensor(%ex, %x)", "operator aten.add_.Tensor has no meta kernel"},
      {"aten.frexp.Tensor(%d)", "f64[2,3], i32[2,3]"},
      {"aten.frexp.Tensor(%s)", "f32[s0,3], i32[s0,3]"},
      {"aten.special_zeta.default(%x, %i)", "f32[2,3]"},
      {"aten.special_bessel_j0.default(%i)", "f32[3]"},
  });
}

TEST(InferredTypesTest, IndicesAndMasks) {
  ExpectInferred({
      {"aten.index.Tensor(%x, [none,%i])", "f32[2,3]"},
      {"aten.index.Tensor(%x, [%b])", "f32[u0]; u0 from 0 to 6"},
      {"aten.index.Tensor(%x, [%m])", "f32[u0,3]; u0 from 0 to 2"},
      {"aten.index.Tensor(%x, [%m,%i])", "f32[3]"},
      {"aten.index.Tensor(%x, [%i,%i,%i])", "indices for 3 dimensions are too many for [2,3]"},
      {"aten.index.Tensor(%x, [%v])", "index 0: expected int64, int32, bool or uint8, got float32"},
      {"aten.index.Tensor(%y, [%m])",
       "index 0: the mask [2] does not match [4,3] from dimension 0"},
      {"aten.nonzero.default(%x)", "i64[u0,2]{strides=[1,u0]}; u0 from 0 to 6"},
      {"aten.masked_select.default(%x, %b)", "f32[u0]; u0 from 0 to 6"},
      {"aten.index_copy.default(%x, 1, %j, %x)", "index: expected int64, got int32"},
      {"aten.index_fill.int_Scalar(%x, 1, %j, 5)", "index: expected int64, got int32"},
      {"aten.index_add.default(%x, 1, %i, %y)",
       "index_add: index [3] and source [4,3] do not fit self [2,3] along dimension 1"},
  });
}

TEST(InferredTypesTest, DimOrders) {
  ExpectInferred({
      {"dim_order_ops._empty_dim_order.default([2,3,4,5], dim_order=[0,2,3,1])",
       "f32[2,3,4,5]{strides=[60,1,15,3]}"},
      {"dim_order_ops._empty_dim_order.default([2,3])", "f32[2,3]"},
      {"dim_order_ops._empty_dim_order.default([2,-3])", "size: negative number in [2,-3]"},
      {"dim_order_ops._empty_dim_order.default([2,3], dim_order=[1,0])",
       "dim_order: expected contiguous or channels last, got [1,0]"},
      {"dim_order_ops._empty_dim_order.default([2,3], dim_order=[0,1,2])",
       "dim_order: [0,1,2] is for rank 3, got [2,3]"},
      {"dim_order_ops._to_dim_order_copy.default(%x, dtype=dtype:f16)", "f16[2,3]"},
      {"dim_order_ops._to_dim_order_copy.default(%x, dim_order=[%n])",
       "dim_order_ops::_to_dim_order_copy.default: argument 'dim_order': expected a list of "
       "numbers, got int s0"},
  });
}

TEST(InferredTypesTest, Images) {
  ExpectInferred({
      {"aten.upsample_nearest2d.vec(%im, none, [2.0,2.0])", "f32[2,3,8,10]"},
      {"aten.upsample_nearest2d.vec(%im, none, [1e300,2.0])", "scale_factors: out of range"},
      {"aten.upsample_nearest2d.vec(%im, [8,10], none)", "f32[2,3,8,10]"},
      {"aten.linalg_qr.default(%x, \"r\")", "f32[0], f32[2,3]{strides=[1,2]}"},
      {"aten.linalg_qr.default(%x, \"complete\")",
       "f32[2,2]{strides=[1,2]}, f32[2,3]{strides=[1,2]}"},
      {"aten._linalg_svd.default(%x, true)",
       "f32[2,2]{strides=[1,2]}, f32[2], f32[3,3]{strides=[1,3]}"},
      {"aten._linalg_svd.default(%x)", "f32[2,2]{strides=[1,2]}, f32[2], f32[2,3]{strides=[1,2]}"},
      {"aten._linalg_svd.default(%x, false, false)", "f32[0], f32[2], f32[0]"},
  });
}

TEST(InferredTypesTest, ElementsAndFormatsOfEveryKind) {
  ExpectInferred({
      {"aten._local_scalar_dense.default(%lone)", "symint(u0); u0 from -inf to inf"},
      {"aten._local_scalar_dense.default(%u1)", "symint(u0); u0 from 0 to 255"},
      {"aten._local_scalar_dense.default(%z1)", "symint(ToComplex(u0)); u0 from -inf to inf"},
      {"aten._local_scalar_dense.default(%mc)", "symbool(Eq(u0, 1)); u0 from 0 to 1"},
      {"aten.sym_is_contiguous.default(%narrow, memory_format=format:channels_last)",
       "symbool(true)"},
      {"_operator.or_(%q, 6)", "symint(BitwiseFn_bitwise_or(Where(Eq(s0, 3), 1, 0), 6))"},
      {"_operator.or_(%q, %q)", "symbool(Eq(s0, 3))"},
      {"_operator.and_(6, %q)", "symint(BitwiseFn_bitwise_and(6, Where(Eq(s0, 3), 1, 0)))"},
      {"_operator.and_(%q, %q)", "symbool(Eq(s0, 3))"},
      {"aten.cat.default([%cl,%out], 1)", "f32[2,3,4,5]"},
      {"aten.cat.default([%x,%u16])", "f32[4,3]"},
      {"aten.stack.default([%x,%u16])", "f32[2,2,3]"},
      {"aten.stack.default([%ce,%ce], 1)", "f32[2,2,0,4,5]"},
      {"aten.stack.default([%cl,%cl], 4)", "f32[2,3,4,5,2]"},
      {"aten.roll.default(%cl, [3], [1])", "f32[2,3,4,5]"},
      {"aten.roll.default(%cl, [2], [0])", "f32[2,3,4,5]"},
      {"aten.pixel_unshuffle.default(%pe, 2)", "f32[2,0,4,4]"},
      {"aten.pixel_unshuffle.default(%cl, 1)", "f32[2,3,4,5]{strides=[60,1,15,3]}"},
      {"aten.embedding_dense_backward.default(%x, %i, 10, -1, false)",
       "embedding_dense_backward: gradient [2,3] does not fit indices [3] and 10 rows"},
      {"aten.embedding_dense_backward.default(%x, %two, 10, -1, false)", "f32[10,3]"},
      {"aten._embedding_bag.default(%tr, %i, %two)", "f32[2,2], i64[3], i64[2], i64[2]"},
      {"aten._embedding_bag.default(%x, %i, %two, false, 0, false, %v)",
       "f32[2,3], i64[0], i64[2], i64[2]"},
      {"aten._embedding_bag.default(%x, %i, %two, false, 0, false, %gaps)",
       "f32[2,3], i64[3], i64[2], i64[2]"},
      {"aten.index.Tensor(%t3, [%m,%i,%j])", "f32[3]"},
      {"aten.index.Tensor(%t3, [%m,%i,%two])",
       "shapes [3] and [2] do not broadcast: sizes 3 and 2 at dimension 0"},
      {"aten.index.Tensor(%t3, [%m,%sc])", "f32[u0,4]; u0 from 0 to 2"},
      {"aten.index.Tensor(%v, [%b])",
       "index 0: the mask [2,3] does not match [3] from dimension 0"},
      {"aten.index_put.default(%t3, [%m,%i], %c)", "f32[2,3,4]"},
      {"aten.index_put.default(%t3, [%m,%m], %c)",
       "index 1: the mask [2] does not match [2,3,4] from dimension 1"},
      {"aten.index_put.default(%x, [%b], %v, true)", "f32[2,3]; u0 from 0 to 6"},
      {"aten.index_fill.int_Scalar(%x, 1, %i, 5)", "f32[2,3]"},
      {"aten.index_fill.int_Tensor(%x, 1, %i, %c)", "f32[2,3]"},
      {"aten.index_fill.int_Scalar(%x, 7, %i, 5)", "dim 7 is out of range [-2, 1]"},
      {"aten.masked_scatter.default(%x, %b, %v)", "f32[2,3]"},
      {"aten.upsample_nearest2d.vec(%tall, none, [2.0,2.0])", "f32[1,3,2*s0,12]"},
      {"aten.upsample_nearest2d.vec(%tall, none, [1.5,1.0])",
       "f32[1,3,TruncToInt(1.5*ToFloat(s0)),6]"},
      {"aten.upsample_bilinear2d.default(%im, [4,4], false, \"a\", none)",
       "aten::upsample_bilinear2d.default: argument 'scales_h': expected a scalar, got string 'a'"},
      {"aten.constant_pad_nd.default(%x, [1,1], true)", "f32[2,5]"},
      {"aten.constant_pad_nd.default(%x, [1,1], (1+2j))",
       "aten::constant_pad_nd.default: argument 'value': expected a real number, got complex"},
      {"aten.constant_pad_nd.default(%x, [1,1], %f)", "f32[2,5]"},
      {"aten.constant_pad_nd.default(%x, [1,1], \"a\")",
       "aten::constant_pad_nd.default: argument 'value': expected a scalar, got string 'a'"},
      {"aten.constant_pad_nd.default(%cl, [-1,0])", "f32[2,3,4,4]{strides=[48,1,12,3]}"},
      {"aten.scatter.value(%x, 1, %i, true)",
       "scatter: index [3] does not fit into self [2,3] along dimension 1"},
      {"aten.clamp.default(%x, none, none)",
       "aten::clamp.default: at least one of 'min' and 'max' must be given"},
      {"aten.view_copy.default(%ex, [6])", "f32[6]"},
      {"aten.expand.default(%col, [2,3])", "f32[2,3]{strides=[1,0]}"},
      {"aten.slice.Tensor(%ex, 0, 0, 1)", "f32[1,3]{strides=[0,1]}"},
      {"aten.add.Tensor(%cl, %im)", "f32[2,3,4,5]{strides=[60,1,15,3]}"},
      {"aten.add.Tensor(%cls, %cls)", "f32[2,s0,4,5]{strides=[20*s0,1,5*s0,s0]}"},
      {"aten.add.Tensor(%narrow, %narrow)", "f32[2,1,4,1]"},
      {"aten.clone.default(%narrow)", "f32[2,1,4,1]"},
      {"aten.arange.default([1])",
       "aten::arange.default: argument 'end': expected a scalar, got list of 1"},
  });
}

// A dim order is found by substituting numbers for symbols. If all substitutions overflow, there is
// no dim order.
TEST(InferredTypesTest, OverflowingSizesHaveNoOrder) {
  ExpectInferred({
      {"aten.add.Tensor(%large, %large)", "f32[s0**9,2]{strides=[1,s0**9]}"},
      {"aten.add.Tensor(%vast, %vast)", "f32[s0**20,2]"},
      {"aten.add.Tensor(%apart, %apart)", "f32[2,3]"},
      {"aten.constant_pad_nd.default(%lines, [1,1])", "f32[1,2,1,s0**20 + 2]"},
      {"aten.constant_pad_nd.default(%images, [1,1])", "f32[2,3,4,7]"},
      {"aten.constant_pad_nd.default(%rows, [1,1])", "f32[2,3,4,s0**20 + 2]"},
      {"aten.constant_pad_nd.default(%planes, [1,1])", "f32[2,3,4,7]"},
      {"aten.constant_pad_nd.default(%gray, [1,1])", "f32[2,3,4,7]"},
      {"aten.upsample_nearest2d.vec(%tall, none, [2e9,2.0])",
       "f32[1,3,TruncToInt(2e+09*ToFloat(s0)),12]"},
      {"aten.roll.default(%cls, [1], [1])", "f32[2,s0,4,5]{strides=[20*s0,1,5*s0,s0]}"},
      {"aten.roll.default(%cl, [%n], [1])", "f32[2,3,4,5]{strides=[60,1,15,3]}"},
      {"aten.roll.default(%cl, [0], [1])", "f32[2,3,4,5]"},
  });
}

TEST(InferredTypesTest, RareArgumentForms) {
  ExpectInferred({
      {"aten._to_copy.default(%x, layout=layout:strided)", "f32[2,3]"},
      {"aten.constant_pad_nd.default(%x, 1)",
       "constant_pad_nd: a padding of 1 numbers does not fit a tensor of rank 2"},
      {"aten.constant_pad_nd.default(%x, [1,%q])", "pad: element 1 is no int"},
      {"aten.upsample_nearest2d.vec(%im, none, [2.0])",
       "upsample: expected an input of rank 4 and two scale factors"},
      {"aten.upsample_nearest2d.vec(%im, none, [%f,2.0])", "scale_factors: element 0 is no float"},
      {"aten.upsample_nearest2d.vec(%im, none, [2,2])", "f32[2,3,8,10]"},
      {"aten.upsample_bilinear2d.default(%im, [4,4], false, true, none)", "f32[2,3,4,4]"},
      {"aten.upsample_bilinear2d.default(%im, [4,4], false, 2, none)", "f32[2,3,4,4]"},
      {"aten.upsample_bilinear2d.default(%im, [4,4], false, %f, none)", "f32[2,3,4,4]"},
      {"aten.upsample_bilinear2d.default(%im, [4,4], false, (1+2j), none)",
       "aten::upsample_bilinear2d.default: argument 'scales_h': expected a real number, got "
       "complex"},
      {"aten.cat.default([%u16,%u])", "dtypes uint16 and uint8 have no common dtype"},
      {"aten.stack.default([%u16,%u])", "dtypes uint16 and uint8 have no common dtype"},
      {"aten.index.Tensor(%m, [%b])", "indices for 2 dimensions are too many for [2]"},
      {"aten.index_put.default(%x, [%u], %v, true)", "f32[2,3]; u0 from 0 to 6"},
      {"aten.copy_.default(%once, %once)", "f32[1,3]{strides=[0,1]}"},
      {"aten.copy_.default(%ex, %x)",
       "aten::copy_.default: argument 'self': can't be written: its elements along dimension 0 are "
       "one place in memory"},
      {"aten.copy.default(%steps, %s)", "f32[s0,3]{strides=[s1,1]}"},
      {"aten.select_scatter.default(%steps, %v, 0, 0)", "f32[s0,3]{strides=[s1,1]}"},
      {"aten.copy.default(%ex, %x)", "f32[2,3]"},
      {"aten.copy.default(%crossed, %x)", "f32[2,3]{strides=[1,2]}"},
      {"aten.reshape.default(%tr, [6])", "f32[6]"},
      {"aten.reshape.default(%x, [6])", "f32[6]"},
      {"aten.reshape.default(%x, [7])", "cannot view [2,3] as [7]: numbers of elements differ"},
  });
}

// Without a symbol source, a data-dependent size is an error.
TEST(InferredTypesTest, DataDependentSizesNeedSymbols) {
  for (const char* call :
       {"aten.nonzero.default(%x)", "aten.masked_select.default(%x, %b)",
        "aten.index.Tensor(%x, [%b])", "aten.repeat_interleave.Tensor(%i)",
        "aten._local_scalar_dense.default(%lone)", "torchvision.nms.default(%cc, %fours, 0.5)"}) {
    EXPECT_NE(Inferred(call, false).find("must be known here"), std::string::npos)
        << call << " gives " << Inferred(call, false);
  }
}

}  // namespace
}  // namespace belay::exir
