#include "exir/decompositions/decompose.h"
#include "exir/decompositions/expect_values.h"
#include "exir/ops/standard_ops.h"
#include "exir/testing/rewrite_test.h"
#include "gtest/gtest.h"

namespace belay::exir {
namespace {

TEST(CreationValuesTest, Constants) {
  const Values x = F({2}, {5, 6});
  ExpectValues("aten.zeros.default([2])", {}, {F({2}, {0, 0})});
  ExpectValues("aten.ones.default([2], dtype=dtype:i64)", {}, {I({2}, {1, 1})});
  ExpectValues("aten.zeros_like.default(%a)", {x}, {F({2}, {0, 0})});
  ExpectValues("aten.ones_like.default(%a, dtype=dtype:b8)", {x}, {B({2}, {1, 1})});
  ExpectValues("aten.zero.default(%a)", {x}, {F({2}, {0, 0})});
  ExpectValues("aten.new_zeros.default(%a, [1, 2])", {x}, {F({1, 2}, {0, 0})});
  ExpectValues("aten.new_empty_strided.default(%a, [1, 2], [2, 1])", {x}, {F({1, 2}, {0, 0})});
  ExpectValues("aten.new_empty_strided.default(%a, [2], [1], dtype=dtype:i64)", {x},
               {I({2}, {0, 0})});
  ExpectValues("aten.new_ones.default(%a, [2], dtype=dtype:i64)", {x}, {I({2}, {1, 1})});
  ExpectValues("aten.new_full.default(%a, [], 3)", {x}, {F({}, {3})});
  ExpectValues("aten.eye.default(2)", {}, {F({2, 2}, {1, 0, 0, 1})});
  ExpectValues("aten.eye.m(2, 3, dtype=dtype:i64)", {}, {I({2, 3}, {1, 0, 0, 0, 1, 0})});
  ExpectValues("aten.arange.default(3)", {}, {I({3}, {0, 1, 2})});
  ExpectValues("aten.arange.start(1, 2.5)", {}, {F({2}, {1, 2})});
}

TEST(CreationValuesTest, EvenlySpacedNumbers) {
  ExpectValues("aten.linspace.default(0, 1, 5)", {}, {F({5}, {0, 0.25, 0.5, 0.75, 1})});
  ExpectValues("aten.linspace.default(2, 7, 1)", {}, {F({1}, {2})});
  ExpectValues("aten.linspace.default(2, 7, 0)", {}, {F({0}, {})});
  ExpectValues("aten.linspace.default(0, 10, 5, dtype=dtype:i64)", {}, {I({5}, {0, 2, 5, 7, 10})});
  ExpectValues("aten.linspace.Tensor_Scalar(%a, 1, 3)", {F({}, {-1})}, {F({3}, {-1, 0, 1})});
  ExpectValues("aten.linspace.Scalar_Tensor(0, %a, 3)", {F({}, {4})}, {F({3}, {0, 2, 4})});
  ExpectValues("aten.linspace.Tensor_Tensor(%a, %b, 2)", {F({}, {3}), I({}, {4})},
               {F({2}, {3, 4})});
  ExpectValues("aten.linspace.Tensor_Scalar(%a, 1, 1)", {F({}, {-1})}, {F({1}, {-1})});
  ExpectValues("aten.logspace.default(0, 2, 3)", {}, {F({3}, {1, 10, 100})});
  ExpectValues("aten.logspace.Tensor_Tensor(%a, %b, 3, 2.0)", {F({}, {-1}), F({}, {1})},
               {F({3}, {0.5, 1, 2})});
}

TEST(CreationValuesTest, Windows) {
  ExpectValues("aten.hann_window.default(4)", {}, {F({4}, {0, 0.5, 1, 0.5})});
  ExpectValues("aten.hann_window.periodic(5, false)", {}, {F({5}, {0, 0.5, 1, 0.5, 0})});
  ExpectValues("aten.hann_window.default(1)", {}, {F({1}, {1})});
  ExpectValues("aten.hamming_window.default(2)", {}, {F({2}, {0.08, 1})});
  ExpectValues("aten.hamming_window.periodic_alpha_beta(2, true, 0.75, 0.25)", {},
               {F({2}, {0.5, 1})});
  ExpectValues("aten.blackman_window.default(4)", {}, {F({4}, {0, 0.34, 1, 0.34})});
  ExpectValues("aten.blackman_window.periodic(3, false, dtype=dtype:f64)", {}, {D({3}, {0, 1, 0})});
}

TEST(CreationValuesTest, ConversionsAndCopies) {
  const Values x = F({2}, {1.5, -2.5});
  ExpectValues("aten.to.dtype(%a, dtype:i64)", {x}, {I({2}, {1, -2})});
  ExpectValues("aten.to.dtype_layout(%a, dtype=dtype:f64)", {x}, {D({2}, {1.5, -2.5})});
  ExpectValues("aten.to.other(%a, %b)", {x, I({}, {0})}, {I({2}, {1, -2})});
  ExpectValues("aten.to.device(%a, device:cpu, dtype:f16)", {x}, {H({2}, {1.5, -2.5})});
  ExpectValues("aten.type_as.default(%a, %b)", {x, D({}, {0})}, {D({2}, {1.5, -2.5})});
  for (const char* call :
       {"aten.detach.default(%a)", "aten.lift_fresh.default(%a)", "aten.contiguous.default(%a)",
        "aten.lift_fresh_copy.default(%a)", "aten.to_dense.default(%a)",
        "aten.to.dtype(%a, dtype:f32)", "aten.to.dtype(%a, dtype:f32, false, true)"}) {
    ExpectValues(call, {x}, {x});
  }
  ExpectValues("aten.contiguous.default(%a, memory_format=format:channels_last)",
               {F({1, 2, 1, 2}, {1, 2, 3, 4})}, {F({1, 2, 1, 2}, {1, 2, 3, 4})});
}

TEST(CreationValuesTest, PropertiesAreScalars) {
  ExpectRewrite(R"(program aten {
  ranges { s0: [2, 8] }
  graph(%x: f32[s0,3] user_input) {
    %n: symint(s0) = aten.size.int(%x, 0)
    %m: symint(3*s0) = aten.numel.default(%x)
    %k: symint(3) = aten.size.int(%x, -1)
    %y: f32[s0,3*s0,3] = aten.full.default([%n,%m,%k], 1.0)
    return (%y user_output)
  }
})",
                Decompose().run, R"(program aten {
  ranges { s0: [2, 8] }
  graph(%x: f32[s0,3] user_input) {
    %sym_size: symint(s0) = aten.sym_size.int(%x, 0)
    %mul: symint(3*s0) = _operator.mul(3, %sym_size)
    %y: f32[s0,3*s0,3] = aten.full.default([%sym_size,%mul,3], 1.0)
    return (%y user_output)
  }
})",
                *CreateStandardOps().value());
}

TEST(IndexingValuesTest, Fills) {
  const Values x = F({2, 2}, {1, 2, 3, 4}), mask = B({2}, {1, 0});
  ExpectValues("aten.masked_fill.Scalar(%a, %b, 9)", {x, mask}, {F({2, 2}, {9, 2, 9, 4})});
  ExpectValues("aten.masked_fill.Tensor(%a, %b, %c)", {x, mask, I({}, {9})},
               {F({2, 2}, {9, 2, 9, 4})});
  ExpectValues("aten.index_fill.int_Scalar(%a, -1, %b, 9)", {x, I({1}, {1})},
               {F({2, 2}, {1, 9, 3, 9})});
  ExpectValues("aten.index_fill.int_Tensor(%a, 0, %b, %c)", {x, I({}, {1}), F({}, {9})},
               {F({2, 2}, {1, 2, 9, 9})});
  ExpectValues("aten.index_copy.default(%a, 0, %b, %c)", {x, I({1}, {1}), F({1, 2}, {8, 9})},
               {F({2, 2}, {1, 2, 8, 9})});
  ExpectValues("aten.index_add.default(%a, 1, %b, %c, alpha=2)",
               {x, I({3}, {1, 1, 0}), F({2, 3}, {1, 1, 1, 0, 0, 2})}, {F({2, 2}, {3, 6, 7, 4})});
}

TEST(IndexingValuesTest, RejectsComplexFillOfRealTensors) {
  const Values complex = {DType::kComplex64, {}, {2}};
  ExpectDecompositionError("aten.index_fill.int_Tensor(%a, 0, %b, %c)",
                           {F({2}, {1, 2}), I({1}, {0}), complex}, {F({2}, {0, 0})},
                           absl::StatusCode::kInvalidArgument, "a complex value of real numbers");
}

TEST(IndexingValuesTest, ScalarTensorsReduceOnlyWithScalars) {
  ExpectValues("aten.index_reduce.default(%a, 0, %b, %c, \"amax\")",
               {F({}, {3}), I({1}, {0}), F({}, {5})}, {F({}, {5})});
  ExpectDecompositionError("aten.index_reduce.default(%a, 0, %b, %c, \"amax\")",
                           {F({}, {3}), I({1}, {0}), F({1}, {5})}, {F({}, {0})},
                           absl::StatusCode::kInvalidArgument, "the source has dimensions");
}

TEST(CreationValuesTest, IntegerRangesRequireIntegerEnds) {
  ExpectValues("aten.linspace.default(-4.75, 4.75, 5, dtype=dtype:i64)", {},
               {I({5}, {-4, -2, 0, 2, 4})});
  ExpectValues("aten.linspace.Tensor_Scalar(%a, 4.75, 5, dtype=dtype:i64)", {F({}, {-4.75})},
               {I({5}, {-4, -2, 0, 2, 4})});
  ExpectDecompositionError("aten.linspace.default(0, 1e30, 2, dtype=dtype:i64)", {},
                           {I({2}, {0, 0})}, absl::StatusCode::kInvalidArgument,
                           "does not fit into int64");
}

TEST(IndexingValuesTest, FlatIndices) {
  const Values x = F({2, 2}, {1, 2, 3, 4});
  ExpectValues("aten.take.default(%a, %b)", {x, I({1, 2}, {3, 0})}, {F({1, 2}, {4, 1})});
  ExpectValues("aten.put.default(%a, %b, %c)", {x, I({2}, {3, 0}), F({2}, {8, 9})},
               {F({2, 2}, {9, 2, 3, 8})});
  ExpectValues("aten.put.default(%a, %b, %c, true)", {x, I({2}, {3, 3}), F({2, 1}, {8, 9})},
               {F({2, 2}, {1, 2, 3, 21})});
  ExpectValues("aten.take_along_dim.default(%a, %b)", {x, I({2}, {3, 0})}, {F({2}, {4, 1})});
  ExpectValues("aten.take_along_dim.default(%a, %b, -1)", {x, I({1, 1}, {1})}, {F({2, 1}, {2, 4})});
  ExpectValues("aten.take_along_dim.default(%a, %b, 0)", {F({2, 1}, {1, 2}), I({1, 3}, {1, 0, 1})},
               {F({1, 3}, {2, 1, 2})});
}

TEST(IndexingValuesTest, UncheckedIndices) {
  const Values x = F({2, 2}, {1, 2, 3, 4});
  ExpectValues("aten._unsafe_index.Tensor(%a, [none, %b])", {x, I({1}, {1})}, {F({2, 1}, {2, 4})});
  ExpectValues("aten._unsafe_index_put.default(%a, [%b], %c, true)",
               {x, I({2}, {0, 0}), F({}, {1})}, {F({2, 2}, {3, 4, 3, 4})});
  ExpectValues("aten._unsafe_masked_index.default(%a, %b, [%c], 7)",
               {F({2}, {1, 2}), B({3}, {1, 0, 1}), I({3}, {1, 99, 0})}, {F({3}, {2, 7, 1})});
  ExpectValues("aten._unsafe_masked_index_put_accumulate.default(%a, %b, [%c], %d)",
               {F({2}, {1, 2}), B({3}, {1, 0, 1}), I({3}, {1, -9, 1}), F({3}, {5, 6, 7})},
               {F({2}, {1, 14})});
}

TEST(IndexingValuesTest, MaskedIndicesOfEmptyTensorsAreFilled) {
  ExpectValues("aten._unsafe_masked_index.default(%a, %b, [%c], 7)",
               {F({0}, {}), B({3}, {1, 0, 1}), I({3}, {1, 99, 0})}, {F({3}, {7, 7, 7})});
  ExpectValues("aten._unsafe_masked_index.default(%a, %b, [none, %c], 7)",
               {F({2, 0}, {}), B({2}, {1, 0}), I({2}, {0, 1})}, {F({2, 2}, {7, 7, 7, 7})});
  ExpectValues("aten._unsafe_masked_index_put_accumulate.default(%a, %b, [%c], %d)",
               {F({0}, {}), B({2}, {0, 0}), I({2}, {1, -9}), F({2}, {5, 6})}, {F({0}, {})});
}

TEST(IndexingValuesTest, OneHotAndIsIn) {
  ExpectValues("aten.one_hot.default(%a, 3)", {I({2}, {2, 0})}, {I({2, 3}, {0, 0, 1, 1, 0, 0})});
  ExpectDecompositionError("aten.one_hot.default(%a)", {I({2}, {2, 0})}, {I({2, 3}, {})},
                           absl::StatusCode::kUnimplemented, "number of classes");
  const Values x = I({2, 2}, {1, 2, 3, 4});
  ExpectValues("aten.isin.Tensor_Tensor(%a, %b)", {x, I({3}, {4, 1, 7})},
               {B({2, 2}, {1, 0, 0, 1})});
  ExpectValues("aten.isin.Tensor_Scalar(%a, 3, invert=true)", {x}, {B({2, 2}, {1, 1, 0, 1})});
  ExpectValues("aten.isin.Scalar_Tensor(3, %a)", {x}, {B({}, {1})});
  ExpectValues("aten.isin.Tensor_Tensor(%a, %b)", {x, I({0}, {})}, {B({2, 2}, {0, 0, 0, 0})});
}

TEST(IndexingValuesTest, Nonzero) {
  const Values x = F({2, 2}, {1, 0, 3, 4});
  const std::vector<Values> positions = {I({3}, {0, 1, 1}), I({3}, {0, 0, 1})};
  ExpectValues("aten.nonzero_numpy.default(%a)", {x}, positions, {.list = true});
  ExpectValues("aten.where.default(%a)", {x}, positions, {.list = true});
  ExpectValues("aten.nonzero_numpy.default(%a)", {F({}, {3})}, {I({1}, {0})}, {.list = true});
  ExpectValues("aten.argwhere.default(%a)", {x}, {I({3, 2}, {0, 0, 1, 0, 1, 1})});
}

TEST(IndexingValuesTest, EmbeddingBags) {
  const Values weight = F({3, 2}, {1, 2, 3, 4, 5, 6});
  const Values indices = I({4}, {0, 2, 1, 1}), offsets = I({2}, {0, 2});
  for (const char* call :
       {"aten.embedding_bag.default(%a, %b, %c)",
        "aten.embedding_bag.padding_idx(%a, %b, %c, false, 0, false, none, false, none)"}) {
    ExpectValues(call, {weight, indices, offsets},
                 {F({2, 2}, {6, 8, 6, 8}), I({0}, {}), I({2}, {2, 2}), I({2}, {0, 0})});
  }
  // The last row is ignored.
  ExpectValues("aten.embedding_bag.padding_idx(%a, %b, %c, false, 0, false, none, false, -1)",
               {weight, indices, offsets},
               {F({2, 2}, {1, 2, 6, 8}), I({4}, {0, 0, 1, 1}), I({2}, {1, 2}), I({2}, {0, 0})},
               {.symbolic = false});
}

}  // namespace
}  // namespace belay::exir
