#include "exir/decompositions/expect_values.h"
#include "gtest/gtest.h"

namespace belay::exir {
namespace {

constexpr ExpectOptions kNumbers = {.symbolic = false};
constexpr ExpectOptions kList = {.list = true};
constexpr ExpectOptions kNumbersList = {.symbolic = false, .list = true};

Values Matrix() { return F({2, 3}, {1, 2, 3, 4, 5, 6}); }
Values Row() { return F({4}, {1, 2, 3, 4}); }

TEST(ShapeValuesTest, Reshapes) {
  const Values x = Matrix();
  for (const char* call :
       {"aten.ravel.default(%a)", "aten.flatten.using_ints(%a)", "aten.reshape.default(%a, [-1])",
        "aten.flatten.using_ints(%a, -2, -1)", "aten._unsafe_view.default(%a, [-1])"}) {
    ExpectValues(call, {x}, {F({6}, x.elements)});
  }
  ExpectValues("aten.flatten.using_ints(%a)", {F({}, {3})}, {F({1}, {3})});
  ExpectValues("aten.unflatten.int(%a, -1, [2, -1])", {F({1, 4}, {1, 2, 3, 4})},
               {F({1, 2, 2}, {1, 2, 3, 4})}, kNumbers);
  ExpectValues("aten.unflatten.int(%a, 0, [2, 2])", {Row()}, {F({2, 2}, {1, 2, 3, 4})}, kNumbers);
  ExpectValues("aten.view_as.default(%a, %b)", {x, F({3, 2}, {0, 0, 0, 0, 0, 0})},
               {F({3, 2}, x.elements)});
  ExpectValues("aten.reshape_as.default(%a, %b)", {x, F({6}, {0, 0, 0, 0, 0, 0})},
               {F({6}, x.elements)}, kNumbers);
  ExpectValues("aten._reshape_alias.default(%a, [6], [1])", {x}, {F({6}, x.elements)}, kNumbers);
  ExpectValues("aten.squeeze.default(%a)", {F({1, 2, 1}, {1, 2})}, {F({2}, {1, 2})});
  ExpectValues("aten.squeeze.default(%a)", {F({1, 1}, {1})}, {F({}, {1})});
  ExpectValues("aten.expand_as.default(%a, %b)", {F({2, 1}, {1, 2}), Matrix()},
               {F({2, 3}, {1, 1, 1, 2, 2, 2})});
  ExpectValues("aten.broadcast_to.default(%a, [2, 2])", {F({2}, {1, 2})}, {F({2, 2}, {1, 2, 1, 2})},
               kNumbers);
}

TEST(ShapeValuesTest, Permutations) {
  const Values x = Matrix(), t = F({3, 2}, {1, 4, 2, 5, 3, 6});
  for (const char* call :
       {"aten.t.default(%a)", "aten.transpose.int(%a, 0, -1)", "aten.mT.default(%a)",
        "aten.mH.default(%a)", "aten.adjoint.default(%a)", "aten.matrix_H.default(%a)",
        "aten.numpy_T.default(%a)", "aten.swapaxes.default(%a, -1, 0)",
        "aten.swapdims.default(%a, 0, 1)", "aten.movedim.int(%a, 0, 1)",
        "aten.moveaxis.intlist(%a, [0, 1], [1, 0])"}) {
    ExpectValues(call, {x}, {t});
  }
  for (const char* call : {"aten.mT.default(%a)", "aten.mH.default(%a)", "aten.adjoint.default(%a)",
                           "aten.matrix_H.default(%a)"}) {
    ExpectValues(call, {F({}, {3})}, {F({}, {3})});
  }
  ExpectValues("aten.movedim.intlist(%a, [2], [0])", {F({1, 2, 3}, x.elements)},
               {F({3, 1, 2}, {1, 4, 2, 5, 3, 6})});
  ExpectValues("aten.numpy_T.default(%a)", {F({1, 2, 3}, x.elements)},
               {F({3, 2, 1}, {1, 4, 2, 5, 3, 6})});
  ExpectValues("aten.t.default(%a)", {Row()}, {Row()});
  ExpectValues("aten.linalg_diagonal.default(%a, offset=1)", {x}, {F({2}, {2, 6})}, kNumbers);
}

TEST(ShapeValuesTest, Narrow) {
  ExpectValues("aten.narrow.default(%a, -1, 1, 2)", {Matrix()}, {F({2, 2}, {2, 3, 5, 6})},
               kNumbers);
  ExpectValues("aten.narrow.default(%a, 0, -1, 1)", {Matrix()}, {F({1, 3}, {4, 5, 6})}, kNumbers);
  ExpectDecompositionError("aten.narrow.default(%a, 0, 1, 2)", {Matrix()}, {F({2, 3}, {})},
                           absl::StatusCode::kInvalidArgument, "from 1 to 3 of a size of 2");
}

TEST(ShapeValuesTest, Splits) {
  const Values x = F({5}, {1, 2, 3, 4, 5});
  const std::vector<Values> uneven = {F({2}, {1, 2}), F({2}, {3, 4}), F({1}, {5})};
  for (const char* call :
       {"aten.split.Tensor(%a, 2)", "aten.chunk.default(%a, 3)", "aten.unsafe_split.Tensor(%a, 2)",
        "aten.split.sizes(%a, [2, 2, 1])", "aten.unsafe_chunk.default(%a, 3)",
        "aten.unsafe_split_with_sizes.default(%a, [2, 2, 1])", "aten.tensor_split.sections(%a, 3)",
        "aten.tensor_split.indices(%a, [2, 4])"}) {
    ExpectValues(call, {x}, uneven, kNumbersList);
  }
  for (const char* call : {"aten.chunk.default(%a, 3)", "aten.unsafe_chunk.default(%a, 3)"}) {
    ExpectValues(call, {x}, uneven, {.rtol = 1e-5, .atol = 1e-6, .symbolic = true, .list = true});
  }
  // Four chunks of two would need eight elements.
  ExpectValues("aten.chunk.default(%a, 4)", {x}, uneven, kNumbersList);
  ExpectValues("aten.chunk.default(%a, 2, -1)", {Matrix()},
               {F({2, 2}, {1, 2, 4, 5}), F({2, 1}, {3, 6})}, kNumbersList);
  ExpectValues("aten.chunk.default(%a, 2)", {F({0}, {})}, {F({0}, {}), F({0}, {})}, kNumbersList);
  ExpectValues("aten.hsplit.int(%a, 2)", {Row()}, {F({2}, {1, 2}), F({2}, {3, 4})}, kNumbersList);
  ExpectValues("aten.hsplit.array(%a, [1])", {Matrix()},
               {F({2, 1}, {1, 4}), F({2, 2}, {2, 3, 5, 6})}, kNumbersList);
  ExpectValues("aten.vsplit.int(%a, 2)", {Matrix()}, {F({1, 3}, {1, 2, 3}), F({1, 3}, {4, 5, 6})},
               kNumbersList);
  ExpectValues("aten.vsplit.array(%a, [1])", {Matrix()},
               {F({1, 3}, {1, 2, 3}), F({1, 3}, {4, 5, 6})}, kNumbersList);
  const Values deep = F({1, 1, 2}, {1, 2});
  for (const char* call : {"aten.dsplit.int(%a, 2)", "aten.dsplit.array(%a, [1])"}) {
    ExpectValues(call, {deep}, {F({1, 1, 1}, {1}), F({1, 1, 1}, {2})}, kNumbersList);
  }
  ExpectValues("aten.unbind.int(%a, 1)", {F({2, 2}, {1, 2, 3, 4})},
               {F({2}, {1, 3}), F({2}, {2, 4})}, kNumbersList);
}

TEST(ShapeValuesTest, MinimumRank) {
  const Values zero = F({}, {3}), one = F({2}, {1, 2}), two = Matrix();
  ExpectValues("aten.atleast_1d.default(%a)", {zero}, {F({1}, {3})});
  ExpectValues("aten.atleast_2d.default(%a)", {zero}, {F({1, 1}, {3})});
  ExpectValues("aten.atleast_2d.default(%a)", {one}, {F({1, 2}, {1, 2})});
  ExpectValues("aten.atleast_3d.default(%a)", {one}, {F({1, 2, 1}, {1, 2})});
  ExpectValues("aten.atleast_3d.default(%a)", {two}, {F({2, 3, 1}, two.elements)});
  ExpectValues("aten.atleast_3d.default(%a)", {zero}, {F({1, 1, 1}, {3})});
  ExpectValues("aten.atleast_1d.Sequence([%a, %b])", {zero, one}, {F({1}, {3}), one}, kList);
  ExpectValues("aten.atleast_2d.Sequence([%a, %b])", {zero, two}, {F({1, 1}, {3}), two}, kList);
  ExpectValues("aten.atleast_3d.Sequence([%a])", {one}, {F({1, 2, 1}, {1, 2})}, kList);
}

TEST(JoiningValuesTest, Stacks) {
  const Values x = F({2}, {1, 2}), y = F({2}, {3, 4});
  ExpectValues("aten.stack.default([%a, %b], -1)", {x, y}, {F({2, 2}, {1, 3, 2, 4})});
  ExpectValues("aten.hstack.default([%a, %b])", {x, y}, {F({4}, {1, 2, 3, 4})});
  ExpectValues("aten.concat.default([%a, %b])", {x, y}, {F({4}, {1, 2, 3, 4})});
  ExpectValues("aten.concatenate.default([%a, %b], -1)", {x, y}, {F({4}, {1, 2, 3, 4})});
  for (const char* call : {"aten.vstack.default([%a, %b])", "aten.row_stack.default([%a, %b])"}) {
    ExpectValues(call, {x, y}, {F({2, 2}, {1, 2, 3, 4})});
  }
  ExpectValues("aten.dstack.default([%a, %b])", {x, y}, {F({1, 2, 2}, {1, 3, 2, 4})});
  ExpectValues("aten.column_stack.default([%a, %b])", {x, y}, {F({2, 2}, {1, 3, 2, 4})});
  ExpectValues("aten.column_stack.default([%a, %b])", {x, F({2, 1}, {3, 4})},
               {F({2, 2}, {1, 3, 2, 4})});
  ExpectValues("aten.hstack.default([%a, %b])", {F({2, 1}, {1, 2}), F({2, 1}, {3, 4})},
               {F({2, 2}, {1, 3, 2, 4})});
  ExpectValues("aten.hstack.default([%a, %b])", {F({}, {1}), I({}, {2})}, {F({2}, {1, 2})});
  ExpectValues("aten.block_diag.default([%a, %b, %c])",
               {F({1, 2}, {1, 2}), F({}, {3}), F({2, 1}, {4, 5})},
               {F({4, 4}, {1, 2, 0, 0, 0, 0, 3, 0, 0, 0, 0, 4, 0, 0, 0, 5})});
}

TEST(ShapeValuesTest, SectionsOfADynamicSize) {
  const Values x = F({5}, {1, 2, 3, 4, 5});
  ExpectValues("aten.tensor_split.sections(%a, 3)", {x},
               {F({2}, {1, 2}), F({2}, {3, 4}), F({1}, {5})}, kList);
  ExpectValues("aten.tensor_split.sections(%a, 2)", {x}, {F({3}, {1, 2, 3}), F({2}, {4, 5})},
               kList);
  ExpectValues(
      "aten.tensor_split.sections(%a, 7)", {x},
      {F({1}, {1}), F({1}, {2}), F({1}, {3}), F({1}, {4}), F({1}, {5}), F({0}, {}), F({0}, {})},
      kList);
}

TEST(FourierValuesTest, ShiftsByHalf) {
  const Values x = Matrix();
  ExpectValues("aten.fft_fftshift.default(%a)", {x}, {F({2, 3}, {6, 4, 5, 3, 1, 2})});
  ExpectValues("aten.fft_ifftshift.default(%a)", {x}, {F({2, 3}, {5, 6, 4, 2, 3, 1})});
  ExpectValues("aten.fft_fftshift.default(%a, [1])", {x}, {F({2, 3}, {3, 1, 2, 6, 4, 5})});
}

TEST(FourierValuesTest, TransformsPadOrTruncate) {
  const Values result = F({4}, {5, 1, -3, 1});
  ExpectValues("aten.fft_hfft.default(%a, 4)", {F({2}, {1, 2})}, {result});
  ExpectValues("aten.fft_hfft.default(%a, 4)", {F({5}, {1, 2, 0, 9, 9})}, {result});
}

TEST(JoiningValuesTest, Combinations) {
  const Values x = I({4}, {5, 6, 7, 8});
  ExpectValues("aten.combinations.default(%a)", {x},
               {I({6, 2}, {5, 6, 5, 7, 5, 8, 6, 7, 6, 8, 7, 8})});
  ExpectValues("aten.combinations.default(%a, 3)", {x},
               {I({4, 3}, {5, 6, 7, 5, 6, 8, 5, 7, 8, 6, 7, 8})});
  ExpectValues("aten.combinations.default(%a, 4)", {x}, {I({1, 4}, {5, 6, 7, 8})});
  ExpectValues("aten.combinations.default(%a, 2, true)", {I({2}, {5, 6})},
               {I({3, 2}, {5, 5, 5, 6, 6, 6})});
  ExpectValues("aten.combinations.default(%a, 3, true)", {I({2}, {5, 6})},
               {I({4, 3}, {5, 5, 5, 5, 5, 6, 5, 6, 6, 6, 6, 6})});
  ExpectValues("aten.combinations.default(%a, 1)", {x}, {I({4, 1}, {5, 6, 7, 8})});
  ExpectValues("aten.combinations.default(%a, 0)", {x}, {I({0}, {})});
  ExpectValues("aten.combinations.default(%a, 5)", {x}, {I({0, 5}, {})});
  ExpectValues("aten.combinations.default(%a)", {I({0}, {})}, {I({0, 2}, {})});
}

TEST(JoiningValuesTest, Grids) {
  const Values x = F({2}, {1, 2}), y = F({3}, {3, 4, 5});
  const Values xs = F({2, 3}, {1, 1, 1, 2, 2, 2}), ys = F({2, 3}, {3, 4, 5, 3, 4, 5});
  ExpectValues("aten.meshgrid.default([%a, %b])", {x, y}, {xs, ys}, kList);
  ExpectValues("aten.meshgrid.indexing([%a, %b], indexing=\"ij\")", {x, y}, {xs, ys}, kList);
  ExpectValues("aten.meshgrid.indexing([%a, %b], indexing=\"xy\")", {x, y},
               {F({3, 2}, {1, 2, 1, 2, 1, 2}), F({3, 2}, {3, 3, 4, 4, 5, 5})}, kList);
  ExpectValues("aten.broadcast_tensors.default([%a, %b])", {F({2, 1}, {1, 2}), y}, {xs, ys}, kList);
  ExpectValues("aten.cartesian_prod.default([%a, %b])", {x, y},
               {F({6, 2}, {1, 3, 1, 4, 1, 5, 2, 3, 2, 4, 2, 5})});
  ExpectValues("aten.cartesian_prod.default([%a])", {x}, {x});
}

TEST(JoiningValuesTest, PadSequence) {
  const Values x = F({2}, {1, 2}), y = F({1}, {3});
  ExpectValues("aten.pad_sequence.default([%a, %b], true, 9.0)", {x, y}, {F({2, 2}, {1, 2, 3, 9})},
               kNumbers);
  ExpectValues("aten.pad_sequence.default([%a, %b])", {x, y}, {F({2, 2}, {1, 3, 2, 0})}, kNumbers);
  ExpectValues("aten.pad_sequence.default([%a, %b], true, 9.0, \"left\")", {x, y},
               {F({2, 2}, {1, 2, 9, 3})}, kNumbers);
}

TEST(RearrangingValuesTest, Pads) {
  const Values x = F({1, 3}, {1, 2, 3});
  ExpectValues("aten.pad.default(%a, [1, 0], \"constant\", 7.0)", {x}, {F({1, 4}, {7, 1, 2, 3})});
  ExpectValues("aten.pad.default(%a, [2, 1], \"reflect\")", {x}, {F({1, 6}, {3, 2, 1, 2, 3, 2})},
               kNumbers);
  ExpectValues("aten.pad.default(%a, [2, 1], \"replicate\")", {x}, {F({1, 6}, {1, 1, 1, 2, 3, 3})});
  for (const char* call :
       {"aten.pad.default(%a, [2, 1], \"circular\")", "aten._pad_circular.default(%a, [2, 1])",
        "aten._pad_enum.default(%a, [2, 1], 2)"}) {
    ExpectValues(call, {x}, {F({1, 6}, {2, 3, 1, 2, 3, 1})}, kNumbers);
  }
  ExpectValues("aten.pad.default(%a, [0, 1, 1, 0], \"circular\")", {F({1, 2, 2}, {1, 2, 3, 4})},
               {F({1, 3, 3}, {3, 4, 3, 1, 2, 1, 3, 4, 3})}, kNumbers);
  ExpectValues("aten._pad_enum.default(%a, [1, 0], 3, 7.0)", {x}, {F({1, 4}, {7, 1, 2, 3})});
}

TEST(RearrangingValuesTest, Repeats) {
  const Values x = F({2, 2}, {1, 2, 3, 4});
  ExpectValues("aten.repeat_interleave.self_int(%a, 2, -1)", {x},
               {F({2, 4}, {1, 1, 2, 2, 3, 3, 4, 4})});
  ExpectValues("aten.repeat_interleave.self_int(%a, 2)", {F({2}, {1, 2})}, {F({4}, {1, 1, 2, 2})});
  ExpectValues("aten.repeat_interleave.self_Tensor(%a, %b, 0)", {x, I({2}, {1, 2})},
               {F({3, 2}, {1, 2, 3, 4, 3, 4})});
  ExpectValues("aten.repeat_interleave.self_Tensor(%a, %b, none, output_size=3)",
               {F({2}, {5, 6}), I({2}, {2, 1})}, {F({3}, {5, 5, 6})});
  ExpectValues("aten.tile.default(%a, [2])", {x}, {F({2, 4}, {1, 2, 1, 2, 3, 4, 3, 4})});
  ExpectValues("aten.tile.default(%a, [2, 1, 1])", {F({1, 2}, {1, 2})},
               {F({2, 1, 2}, {1, 2, 1, 2})});
}

TEST(RearrangingValuesTest, FlipsAndRotations) {
  const Values x = Matrix();
  ExpectValues("aten.fliplr.default(%a)", {x}, {F({2, 3}, {3, 2, 1, 6, 5, 4})});
  ExpectValues("aten.flipud.default(%a)", {x}, {F({2, 3}, {4, 5, 6, 1, 2, 3})});
  ExpectValues("aten.rot90.default(%a)", {x}, {F({3, 2}, {3, 6, 2, 5, 1, 4})});
  ExpectValues("aten.rot90.default(%a, 2)", {x}, {F({2, 3}, {6, 5, 4, 3, 2, 1})});
  ExpectValues("aten.rot90.default(%a, -1)", {x}, {F({3, 2}, {4, 1, 5, 2, 6, 3})});
  ExpectValues("aten.rot90.default(%a, 4, [1, 0])", {x}, {x});
  ExpectValues("aten.roll.default(%a, [1])", {x}, {F({2, 3}, {6, 1, 2, 3, 4, 5})}, kNumbers);
  ExpectValues("aten.roll.default(%a, [1], [1])", {x}, {F({2, 3}, {3, 1, 2, 6, 4, 5})});
  ExpectValues("aten.roll.default(%a, [-4, 1], [-1, 0])", {x}, {F({2, 3}, {5, 6, 4, 2, 3, 1})});
  ExpectValues("aten.roll.default(%a, [3], [1])", {x}, {x});
  ExpectAsKernel("aten.roll.default(%a, [7, -2], [0, 2])", {Random({3, 2, 5})});
  // Runs of 16 elements are gathered, those of 15 are concatenated.
  for (int64_t inner : {15, 16}) {
    ExpectAsKernel("aten.roll.default(%a, [-9, 2], [1, 0])", {Random({3, 4, inner})});
  }
}

TEST(RearrangingValuesTest, Matrices) {
  const Values x = F({3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  ExpectValues("aten.tril.default(%a)", {x}, {F({3, 3}, {1, 0, 0, 4, 5, 0, 7, 8, 9})});
  ExpectValues("aten.triu.default(%a, 1)", {x}, {F({3, 3}, {0, 2, 3, 0, 0, 6, 0, 0, 0})});
  ExpectValues("aten.tril.default(%a, -1)", {B({1, 2, 2}, {1, 1, 1, 1})},
               {B({1, 2, 2}, {0, 0, 1, 0})});
  ExpectAsKernel("aten.triu.default(%a, -2)", {Random({2, 5, 3})});
  ExpectValues("aten.diag.default(%a)", {x}, {F({3}, {1, 5, 9})}, kNumbers);
  ExpectValues("aten.diag.default(%a, -1)", {F({2}, {1, 2})},
               {F({3, 3}, {0, 0, 0, 1, 0, 0, 0, 2, 0})});
  ExpectValues("aten.diag_embed.default(%a, 1)", {F({2}, {1, 2})},
               {F({3, 3}, {0, 1, 0, 0, 0, 2, 0, 0, 0})});
  ExpectValues("aten.diag_embed.default(%a, 0, 0, 2)", {F({2, 2}, {1, 2, 3, 4})},
               {F({2, 2, 2}, {1, 0, 3, 0, 0, 2, 0, 4})});
  ExpectValues("aten.diagflat.default(%a)", {F({1, 2}, {1, 2})}, {F({2, 2}, {1, 0, 0, 2})});
  ExpectValues("aten.trace.default(%a)", {x}, {F({}, {15})});
  ExpectValues("aten.trace.default(%a)", {I({2, 3}, {1, 2, 3, 4, 5, 6})}, {I({}, {6})}, kNumbers);
}

TEST(RearrangingValuesTest, Images) {
  ExpectValues("aten.pixel_shuffle.default(%a, 2)", {F({4, 1, 2}, {1, 2, 3, 4, 5, 6, 7, 8})},
               {F({1, 2, 4}, {1, 3, 2, 4, 5, 7, 6, 8})}, kNumbers);
  ExpectValues("aten.pixel_unshuffle.default(%a, 2)", {F({1, 2, 4}, {1, 3, 2, 4, 5, 7, 6, 8})},
               {F({4, 1, 2}, {1, 2, 3, 4, 5, 6, 7, 8})}, kNumbers);
  ExpectAsKernel("aten.pixel_shuffle.default(%a, 3)", {Random({2, 9, 2, 4})}, 1, kNumbers);
  ExpectAsKernel("aten.pixel_unshuffle.default(%a, 3)", {Random({2, 2, 6, 3})}, 1, kNumbers);
  for (const char* name : {"channel_shuffle", "native_channel_shuffle"}) {
    ExpectValues("aten." + std::string(name) + ".default(%a, 2)", {F({1, 4, 1}, {1, 2, 3, 4})},
                 {F({1, 4, 1}, {1, 3, 2, 4})}, kNumbers);
  }
  ExpectValues("aten.im2col.default(%a, [2, 2], [1, 1], [0, 0], [1, 1])",
               {F({1, 2, 3}, {1, 2, 3, 4, 5, 6})}, {F({4, 2}, {1, 2, 2, 3, 4, 5, 5, 6})});
  ExpectValues("aten.im2col.default(%a, [1, 2], [1, 2], [0, 1], [1, 2])",
               {F({1, 1, 1, 4}, {1, 2, 3, 4})}, {F({1, 2, 2}, {0, 2, 2, 4})});
}

}  // namespace
}  // namespace belay::exir
