// Calls that decompositions reject, with error messages about the invalid argument. Includes sizes
// and numbers that are known only at run time.
#include <initializer_list>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "exir/decompositions/decompose.h"
#include "exir/decompositions/expect_values.h"
#include "exir/ir/text.h"
#include "exir/ir/verifier.h"
#include "gtest/gtest.h"
#include "runtime/core/str_cat.h"

namespace belay::exir {
namespace {

// Error message of a program with only this call, without the node name.
std::string Refusal(std::string_view call) {
  const std::string name(call.substr(0, call.find('(')));
  const OpOverload* op = StandardOpsOfTests().Find(name);
  if (op == nullptr) return absl::StrCat("there is no ", name);
  std::string results;
  for (size_t i = 0; i < op->schema()->returns.size(); ++i) {
    const bool list = op->schema()->returns[i].type.list;
    absl::StrAppend(&results, i == 0 ? "" : ", ", list ? "[" : "", "%r", i, ": f32[]",
                    list ? "]" : "");
  }
  const std::string text = absl::StrCat(
      "program aten {\nranges { s0: [2, 9] s1: [2, 64] }\ngraph("
      "%x: f32[2,3] user_input, %y: f32[4,3] user_input, %q: f32[3,3] user_input, "
      "%v: f32[3] user_input, %c: f32[] user_input, %e: f32[0,3] user_input, "
      "%s: f32[s0,s1] user_input, %sq: f32[s0,s0] user_input, %sv: f32[s0] user_input, "
      "%h: f16[2,3] user_input, %d: f64[2,3] user_input, %i: i64[3] user_input, "
      "%is: i64[s0] user_input, %l: i64[2] user_input, %b: b8[2,3] user_input, "
      "%z: c64[2,3] user_input, %zs: c64[2,s0,s1] user_input, %zf: c64[2,3,4] user_input, "
      "%zv: c64[8] user_input, %f4: f32[4] user_input, "
      "%t3: f32[2,3,4] user_input, %s3: f32[2,s0,s1] user_input, "
      "%im: f32[1,2,4,4] user_input, %ims: f32[1,2,s0,s1] user_input, "
      "%w: f32[3,2,3,3] user_input, %ws: f32[3,2,s0,s1] user_input, "
      "%vol: f32[1,2,3,4,5] user_input, "
      "%n: symint(s0) user_input) {\n",
      results, " = ", call, "\nreturn () } }");
  absl::StatusOr<ExportedProgram> program = ParseProgram(text, StandardOpsOfTests());
  if (!program.ok()) return absl::StrCat("no program: ", program.status().ToString());
  const absl::Status status = Decompose().run(*program).status();
  if (status.ok()) return "it is decomposed";
  const std::string message(status.message());
  return message.substr(0, message.find(": %r0"));
}

struct Case {
  std::string_view call, expected;
};
// Expects messages with these strings.
void Expect(std::initializer_list<Case> cases) {
  for (const Case& c : cases) {
    const std::string got = Refusal(c.call);
    EXPECT_NE(got.find(std::string(c.expected)), std::string::npos) << c.call << "\ngives " << got;
  }
}

TEST(RefusedCallsTest, PointwiseAndAttention) {
  Expect({
      {"aten.prelu.default(%x, %x)", "prelu: expected a weight of at most one dimension"},
      {"aten.scaled_dot_product_attention.default(%t3, %t3, %t3, %b, 0.0, true)",
       "attention: a mask and is_causal at once"},
      {"aten.scaled_dot_product_attention.default(%v, %t3, %t3)",
       "attention: expected operands of at least two dimensions"},
      {"aten.segment_reduce.default(%v, \"sum\", indices=%i)", "segment_reduce by indices"},
      {"aten.segment_reduce.default(%x, \"sum\", lengths=%i, axis=1)",
       "segment_reduce: expected the axis to be the last dimension of lengths and offsets"},
      {"aten.linalg_matrix_norm.default(%e, -2)",
       "matrix norm: order -2 of a matrix without elements"},
      {"aten.index_fill.int_Tensor(%x, 0, %i, %z)", "index_fill: a complex value of real numbers"},
      {"aten.take_along_dim.default(%c, %v, 0)", "take_along_dim: as many dimensions as indices"},
  });
}

TEST(RefusedCallsTest, Contractions) {
  Expect({
      {"aten.einsum.default(\"a1->a\", [%x])", "einsum: an unknown character in 'a1->a'"},
      {"aten.einsum.default(\"ab[->a\", [%x])", "einsum: an unknown character"},
      {"aten.einsum.default(\"a.->a\", [%x])", "einsum: 'a.' names no dimensions"},
      {"aten.einsum.default(\"a-\", [%x])", "einsum: 'a-' names no dimensions"},
      {"aten.einsum.default(\">a\", [%x])", "einsum: '>a' names no dimensions"},
      {"aten.einsum.default(\"ab->ca\", [%x])", "einsum: an output label that no operand has"},
      {"aten.einsum.default(\"ab->a-\", [%x])", "einsum: 'a-' names no dimensions"},
      {"aten.tensordot.default(%q, %q, [0,1], [1,1])", "a sum over one dimension twice"},
      {"aten.tensordot.default(%q, %q, [0,0], [0,1])", "a sum over one dimension twice"},
      {"aten.linalg_multi_dot.default([])", "a product without matrices"},
  });
}

TEST(RefusedCallsTest, Creation) {
  Expect({
      {"aten.empty_permuted.default([2,3], [0])", "empty_permuted: a layout of another rank"},
      {"aten.empty_permuted.default([2,3], [0,0])",
       "empty_permuted: the layout is not a permutation"},
      {"aten.empty_permuted.default([2,3], [0,2])", "dimension"},
      {"aten.contiguous.default(%x, memory_format=format:preserve)",
       "contiguous: preserve is not a format"},
  });
}

TEST(RefusedCallsTest, FourierTransforms) {
  Expect({
      {"aten.fft_fft.default(%x, 0)", "a Fourier transform of 0 points"},
      {"aten.stft.default(%zv, 4, onesided=true, return_complex=true)",
       "stft: one side of a complex signal's transform"},
      {"aten.istft.default(%zs, 4)", "istft of an unknown number of frequencies"},
      {"aten.istft.default(%zf, 4, 9223372036854775807)", "istft"},
      {"aten.istft.default(%x, 4)", "istft: expected complex numbers"},
  });
}

TEST(RefusedCallsTest, Gradients) {
  Expect({
      {"aten.gradient.tensorarray(%x, spacing=[%x], dim=[0])",
       "gradient: expected vectors of coordinates"},
      {"aten.gradient.tensorarray(%x, spacing=[%sv], dim=[0], edge_order=2)",
       "gradient: expected more than 2 elements in dimension 0"},
  });
}

TEST(RefusedCallsTest, Indexing) {
  Expect({
      {"aten.embedding_bag.padding_idx(%s, %i, %l, false, 0, false, none, false, -1)",
       "embedding_bag: a padding counted from an unknown end"},
      {"aten.unique_dim.default(%s, 0)", "unique rows of an unsupported size"},
      {"aten.unique_dim.default(%c, 0)", "unique slices of a tensor without dimensions"},
      {"aten.unique_dim.default(%x, -1)", "count the dimension from 0"},
      {"aten.unique_consecutive.default(%x, dim=-1)", "count the dimension from 0"},
      {"aten.pad_sequence.default([%v,%sv])", "pad_sequence: sequences of unknown length"},
  });
}

TEST(RefusedCallsTest, Matrices) {
  Expect({
      {"aten.matmul.default(%c, %x)", "matmul: an operand has no dimensions"},
      {"aten.linear.default(%c, %x)", "linear: the input has no dimensions"},
      {"aten.lu_unpack.default(%sq, %is)", "factors of a matrix of unknown size"},
      {"aten.linalg_tensorinv.default(%q, 0)",
       "tensorinv: ind is not a valid number of dimensions"},
      {"aten.linalg_tensorinv.default(%q, 3)",
       "tensorinv: ind is not a valid number of dimensions"},
      {"aten.svd.default(%x, true, false)", "svd without vectors"},
      {"aten.linalg_matrix_rank.default(%s, 0.5)", "a rank of matrices of unknown size"},
      {"aten.linalg_householder_product.default(%x, %sv)",
       "a product of an unsupported number of reflections"},
      {"aten.cov.default(%x, correction=%n)", ""},
      {"aten.cov.default(%x, fweights=%i)", "cov with weights"},
      {"aten.cov.default(%x, aweights=%v)", "cov with weights"},
      {"aten.cov.default(%t3)", "cov: expected at most two dimensions"},
  });
}

TEST(RefusedCallsTest, Normalization) {
  Expect({
      {"aten._native_batch_norm_legit_functional.default(%v, none, none, %v, %v, true, 0.1, 1e-05)",
       ""},
  });
}

TEST(RefusedCallsTest, Pooling) {
  Expect({
      {"aten.adaptive_max_pool1d.default(%x, [1,2])",
       "the argument 'output_size' has 2 elements, expected 1"},
      {"aten.max_unpool2d.default(%im, %i, [4])",
       "the argument 'output_size' has 1 elements, expected 2"},
      {"aten.max_unpool2d.default(%x, %i, [4,4])", "max_unpool: too few dimensions"},
      {"aten.fractional_max_pool2d.default(%x, [2,2], [2,2], %t3)", "wrong number of dimensions"},
      {"aten.fractional_max_pool2d.default(%ims, [2,2], [2,2], %t3)",
       "fractional_max_pool of images of unknown size"},
      {"aten.fractional_max_pool2d.default(%im, [0,2], [2,2], %t3)",
       "the windows do not fit into the image"},
      {"aten.fractional_max_pool2d.default(%im, [2,2], [0,2], %t3)",
       "the windows do not fit into the image"},
      {"aten.fractional_max_pool2d.default(%im, [5,2], [1,2], %t3)",
       "the windows do not fit into the image"},
      {"aten.fractional_max_pool2d.default(%im, [2,2], [4,2], %t3)",
       "the windows do not fit into the image"},
  });
}

TEST(RefusedCallsTest, Random) {
  Expect({
      {"aten.geometric.default(%x, 0.0)", "p: expected a number between 0 and 1, got 0"},
      {"aten.geometric.default(%x, 1.0)", "p: expected a number between 0 and 1, got 1"},
      {"aten.exponential.default(%x, 0.0)", "lambd: expected a positive number, got 0"},
      {"aten.uniform.default(%x, 2.0, 1.0)", "to: expected no less than from, 2, got 1"},
      {"aten.normal.float_float(0.0, -1.0, [2])", "std: expected no negative number, got -1"},
      {"aten.alpha_dropout.default(%x, 1.5, true)", "p: expected a number from 0 to 1, got 1.5"},
      {"aten.alpha_dropout.default(%x, -0.5, true)", "p: expected a number from 0 to 1, got -0.5"},
      {"aten.feature_dropout.default(%v, 0.5, true)",
       "feature dropout: expected at least 2 dimensions"},
      {"aten.multinomial.default(%c, 1)", "multinomial: expected weights of 1 or 2 dimensions"},
      {"aten.multinomial.default(%t3, 1)", "multinomial: expected weights of 1 or 2 dimensions"},
  });
}

TEST(RefusedCallsTest, Rearranging) {
  Expect({
      {"aten.pad.default(%im, [1,1,1], \"reflect\")", "pad: expected up to three dimensions"},
      {"aten.pad.default(%im, [], \"reflect\")", "pad: expected up to three dimensions"},
      {"aten.pad.default(%im, [1,1,1,1,1,1,1,1], \"reflect\")",
       "pad: expected up to three dimensions"},
      {"aten.im2col.default(%im, [0,2], [1,1], [0,0], [1,1])", "im2col: a size is not positive"},
      {"aten.im2col.default(%im, [2,2], [0,1], [0,0], [1,1])", "im2col: a size is not positive"},
      {"aten.im2col.default(%im, [2,2], [1,1], [0,-1], [1,1])", "im2col: a size is not positive"},
      {"aten.im2col.default(%im, [2,2], [1,1], [0,0], [1,0])", "im2col: a size is not positive"},
      {"aten.im2col.default(%im, [2,4294967296], [1,1], [0,0], [1,1])",
       "im2col: a size is too large"},
      {"aten.im2col.default(%im, [2,2], [4294967296,1], [0,0], [1,1])",
       "im2col: a size is too large"},
      {"aten.im2col.default(%im, [2,2], [1,1], [0,4294967296], [1,1])",
       "im2col: a size is too large"},
      {"aten.im2col.default(%im, [2,2], [1,1], [0,0], [1,4294967296])",
       "im2col: a size is too large"},
      {"aten.im2col.default(%im, [2], [1,1], [0,0], [1,1])",
       "im2col: expected two numbers for each size"},
      {"aten.im2col.default(%x, [2,2], [1,1], [0,0], [1,1])",
       "im2col: expected three dimensions or four"},
  });
}

TEST(RefusedCallsTest, Reductions) {
  Expect({
      {"aten.quantile.default(%x, %v, interpolation=\"cubic\")",
       "quantile: unknown interpolation 'cubic'"},
      {"aten.quantile.default(%h, %v)", "quantile: expected float32 or float64"},
      {"aten.sum_to_size.default(%x, [2,2,3])", "sum_to_size: too many dimensions"},
  });
}

TEST(RefusedCallsTest, Resampling) {
  Expect({
      {"aten.upsample_bicubic2d.vec(%im, none, false, [0.0,1.0])",
       "scale_factors: expected positive numbers"},
      {"aten.upsample_bicubic2d.vec(%im, none, false, [0.1,1.0])",
       "expected positive numbers, got 0"},
      {"aten.upsample_bicubic2d.vec(%im, none, false, [-1.0,1.0])",
       "scale_factors: expected positive numbers"},
      {"aten.upsample_bicubic2d.vec(%im, none, false, [1e30,1.0])",
       "scale_factors: expected positive numbers"},
      {"aten.upsample_bicubic2d.default(%im, [0,4], false)",
       "output_size: expected positive numbers, got 0"},
      {"aten._upsample_nearest_exact2d.default(%im, [4,0])",
       "output_size: expected positive numbers, got 0"},
      {"aten.affine_grid_generator.default(%t3, [1,1,4], false)", "size: expected 4 or 5 numbers"},
  });
}

TEST(RefusedCallsTest, Shapes) {
  Expect({
      {"aten.unflatten.int(%x, 1, [-1,-1])", "unflatten: more than one size is -1"},
      {"aten.unflatten.int(%x, 1, [-1,0])", "unflatten: sizes contain both -1 and 0"},
      {"aten.narrow.default(%x, 1, 2, 2)", "narrow: from 2 to 4 of a size of 3"},
      {"aten.narrow.default(%x, 1, -4, 2)", "narrow: from -1 to 1 of a size of 3"},
      {"aten.narrow.default(%x, 1, 0, -1)", "narrow: the length is negative"},
      {"aten.unbind.int(%s)", "unbind: a dimension of unknown size"},
      {"aten.split.Tensor(%s, 2)", "split: a dimension of unknown size"},
      {"aten.split.Tensor(%x, -1)", "split: the size is not positive"},
      {"aten.split.Tensor(%x, 0)", "split: the size is not positive"},
      {"aten.hsplit.int(%s, 5)", "split: a dimension of unknown size"},
      {"aten.hsplit.int(%x, 2)", "split: the sections are not even"},
      {"aten.hsplit.int(%x, 0)", "split: the number of sections"},
      {"aten.chunk.default(%x, 0)", "chunk: the number of chunks"},
      {"aten.mH.default(%v)", "expected at least two dimensions"},
      {"aten.combinations.default(%x)", "combinations: expected one dimension"},
      {"aten.combinations.default(%v, -1)", "combinations: r is negative"},
      {"aten.combinations.default(%v, 65, true)", "combinations: r > 64"},
      {"aten.special_chebyshev_polynomial_t.n_scalar(%x, 256)",
       "a polynomial of degree 256, more than 255"},
  });
}

}  // namespace
}  // namespace belay::exir
