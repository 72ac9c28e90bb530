// Tests of meta kernels of views, copies, indexing and padding beyond the conformance cases:
// symbolic sizes, layouts of views, and error messages.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "exir/op_definition/dtype_rule.h"
#include "exir/op_definition/op_registry.h"
#include "exir/ops/testing/meta_call.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

using ::testing::HasSubstr;

using DataMovementTest = MetaCallTest;

SymInt S(std::string_view name) { return SymExpr::Symbol(name); }
MetaValue I(SymInt value) { return MetaValue(std::move(value)); }
MetaValue L(const std::vector<SymInt>& values) {
  MetaList list;
  for (const SymInt& v : values) list.push_back(v);
  return list;
}
MetaValue TL(const std::vector<MetaValue>& tensors) {
  MetaList list;
  for (const MetaValue& t : tensors) list.push_back(t);
  return MetaValue(std::move(list));
}
TensorMeta T(std::vector<SymInt> sizes, DType dtype = DType::kFloat32) {
  return TensorMeta::Contiguous(dtype, std::move(sizes));
}

TEST_F(DataMovementTest, ViewDividesSymbolsExactly) {
  const SymInt b = S("s0"), n = S("s1");
  EXPECT_EQ(Infer("aten.view.default", {T({b, n, 64}), L({b, -1})}), "f32[s0,64*s1]");
  EXPECT_EQ(Infer("aten.view.default", {T({b, n, 64}), L({b, n, 4, -1})}), "f32[s0,s1,4,16]");
  EXPECT_EQ(Infer("aten.view.default", {T({b * n, 64}), L({b, -1, 64})}), "f32[s0,s1,64]");
  EXPECT_EQ(Infer("aten.view.default", {T({2 * b, 6}), L({-1, 4})}), "f32[3*s0,4]");
  EXPECT_EQ(Infer("aten.view.default", {T({b + 1, 6}), L({-1, 3})}), "f32[2*s0 + 2,3]");
  EXPECT_EQ(Infer("aten.view_copy.default", {T({b, 3}), L({-1, 1, 3})}), "f32[s0,1,3]");
}

TEST_F(DataMovementTest, ViewOfSymbolsKeepsStridesIfPossible) {
  const SymInt b = S("s0"), n = S("s1");
  TensorMeta transposed = T({b, 8, n});
  transposed.strides = {8 * n, 1, 8};
  EXPECT_EQ(Infer("aten.view.default", {transposed, L({b, 2, 4, n})}),
            "f32[s0,2,4,s1] strides [8*s1,4,1,8]");
  EXPECT_THAT(Infer("aten.view.default", {transposed, L({b, 8 * n})}),
              HasSubstr("without moving elements"));
  EXPECT_EQ(Infer("aten.view_copy.default", {transposed, L({b, 8 * n})}), "f32[s0,8*s1]");
  EXPECT_EQ(Infer("aten.reshape.default", {transposed, L({b, 8 * n})}), "f32[s0,8*s1]");
}

TEST_F(DataMovementTest, ViewRejectsProvablyInvalidSizes) {
  const SymInt b = S("s0");
  EXPECT_THAT(Infer("aten.view.default", {T({4, 3}), L({-1, -1})}), HasSubstr("only one size"));
  EXPECT_THAT(Infer("aten.view.default", {T({b, 3}), L({b, 4})}), HasSubstr("cannot view [s0,3]"));
  EXPECT_THAT(Infer("aten.view.default", {T({0, 3}), L({-1, 0})}), HasSubstr("ambiguous"));
  EXPECT_THAT(Infer("aten.view.default", {T({4, 3}), L({5, -1})}), HasSubstr("do not divide"));
  EXPECT_THAT(Infer("aten.view.default", {T({4}), L(std::vector<SymInt>(17, 1))}),
              HasSubstr("rank 17"));
}

TEST_F(DataMovementTest, SliceSimplifiesByKnownSizes) {
  const SymInt n = S("s0");
  const SymInt end = SymRange::kUnboundedAbove;
  const auto slice = [&](SymInt start, SymInt stop, SymInt step) {
    return Infer("aten.slice.Tensor", {T({n, 4}), I(0), I(start), I(stop), I(step)});
  };
  EXPECT_EQ(slice(0, end, 1), "f32[s0,4]");
  EXPECT_EQ(slice(1, end, 1), "f32[s0 - 1,4] at 4");
  EXPECT_EQ(slice(0, -1, 1), "f32[s0 - 1,4]");
  EXPECT_EQ(slice(-1, end, 1), "f32[1,4] at 4*s0 - 4");
  EXPECT_EQ(slice(0, n, 1), "f32[s0,4]");
  EXPECT_EQ(slice(0, n + 3, 1), "f32[s0,4]");
  EXPECT_EQ(slice(n, end, 1), "f32[0,4] at 4*s0");
  EXPECT_EQ(slice(0, end, 2), "f32[FloorDiv(s0 + 1, 2),4] strides [8,1]");
  // Only the run determines whether 5 rows exist.
  EXPECT_EQ(slice(0, 5, 1), "f32[Min(5, s0),4]");
  EXPECT_EQ(slice(0, -5, 1), "f32[Max(0, s0 - 5),4]");
}

TEST_F(DataMovementTest, SelectAndNarrowCheckConstantsOnly) {
  const SymInt n = S("s0");
  EXPECT_EQ(Infer("aten.select.int", {T({n, 4}), I(0), I(-1)}), "f32[4] at 4*s0 - 4");
  EXPECT_EQ(Infer("aten.select_copy.int", {T({n, 4}), I(0), I(S("u3"))}), "f32[4]");
  EXPECT_THAT(Infer("aten.select.int", {T({n, 4}), I(1), I(4)}), HasSubstr("index 4 is out of"));
  EXPECT_THAT(Infer("aten.select.int", {T({n, 4}), I(0), I(n)}), HasSubstr("index s0 is out of"));
  EXPECT_EQ(Infer("aten.narrow_copy.default", {T({n, 4}), I(0), I(1), I(n - 1)}), "f32[s0 - 1,4]");
  EXPECT_THAT(Infer("aten.narrow_copy.default", {T({n, 4}), I(0), I(1), I(n)}),
              HasSubstr("out of range"));
}

TEST_F(DataMovementTest, ExpandRepeatsOnesAndKeepsSymbols) {
  const SymInt n = S("s0"), m = S("s1");
  EXPECT_EQ(Infer("aten.expand.default", {T({n, 1, 3}), L({-1, m, -1})}),
            "f32[s0,s1,3] strides [3,0,1]");
  EXPECT_EQ(Infer("aten.expand_copy.default", {T({1, 3}), L({n, 1, 3})}), "f32[s0,1,3]");
  EXPECT_THAT(Infer("aten.expand.default", {T({n, 3}), L({m, 3})}), HasSubstr("another size"));
  EXPECT_THAT(Infer("aten.expand.default", {T({3}), L({-1, 3})}), HasSubstr("does not exist yet"));
}

TEST_F(DataMovementTest, SqueezeDropsOnlySizesKnownToBeOne) {
  const SymInt n = S("s0");
  EXPECT_EQ(Infer("aten.squeeze_copy.default", {T({1, n, 1, 3})}), "f32[s0,3]");
  EXPECT_EQ(Infer("aten.squeeze.dims", {T({1, n, 1, 3}), L({1, 2})}), "f32[1,s0,3]");
  EXPECT_EQ(Infer("aten.squeeze.dim", {T({n, 3}), I(0)}), "f32[s0,3]");
  EXPECT_THAT(Infer("aten.squeeze.dims", {T({1, 1}), L({0, -2})}), HasSubstr("more than once"));
}

TEST_F(DataMovementTest, ViewsAccumulateOffsets) {
  TensorMeta t = T({6, 5});
  t.strides = {10, 2};
  t.storage_offset = 7;
  EXPECT_EQ(Infer("aten.select.int", {t, I(1), I(2)}), "f32[6] strides [10] at 11");
  EXPECT_EQ(Infer("aten.diagonal.default", {t, I(1)}), "f32[4] strides [12] at 9");
  EXPECT_EQ(Infer("aten.diagonal.default", {t, I(-2)}), "f32[4] strides [12] at 27");
  EXPECT_EQ(Infer("aten.as_strided.default", {t, L({2}), L({3})}), "f32[2] strides [3] at 7");
  EXPECT_EQ(Infer("aten.as_strided.default", {t, L({2}), L({3}), I(1)}), "f32[2] strides [3] at 1");
  EXPECT_EQ(Infer("aten.permute_copy.default", {t, L({1, 0})}), "f32[5,6]");
}

TEST_F(DataMovementTest, SplitSizesAddUpToTheWhole) {
  const SymInt n = S("s0");
  EXPECT_EQ(Infer("aten.split_with_sizes.default", {T({4, 5}), L({1, 4}), I(1)}),
            "f32[4,1] strides [5,1], f32[4,4] strides [5,1] at 1");
  EXPECT_EQ(Infer("aten.split_copy.Tensor", {T({5, n}), I(2)}), "f32[2,s0], f32[2,s0], f32[1,s0]");
  EXPECT_EQ(Infer("aten.split_with_sizes_copy.default", {T({n}), L({2, n - 2})}),
            "f32[2], f32[s0 - 2]");
  EXPECT_EQ(Infer("aten.unbind_copy.int", {T({2, n})}), "f32[s0], f32[s0]");
  EXPECT_THAT(Infer("aten.unbind_copy.int", {T({n, 2})}), HasSubstr("must not be symbolic"));
  EXPECT_THAT(Infer("aten.split_copy.Tensor", {T({int64_t{1} << 40}), I(1)}),
              HasSubstr("above the limit"));
  EXPECT_THAT(Infer("aten.split_with_sizes_copy.default", {T({n}), L({2, n - 1})}),
              HasSubstr("sum to s0 + 1, not to s0"));
}

TEST_F(DataMovementTest, UnfoldCountsWindows) {
  const SymInt n = S("s0");
  EXPECT_EQ(Infer("aten.unfold.default", {T({2, n}), I(1), I(3), I(1)}),
            "f32[2,s0 - 2,3] strides [s0,1,1]");
  EXPECT_EQ(Infer("aten.unfold_copy.default", {T({2, 9}), I(1), I(3), I(2)}), "f32[2,4,3]");
}

TEST_F(DataMovementTest, CatSumsSymbols) {
  const SymInt n = S("s0"), m = S("s1");
  EXPECT_EQ(Infer("aten.cat.default", {TL({T({n, 3}), T({m, 3}), T({1, 3})})}),
            "f32[s0 + s1 + 1,3]");
  EXPECT_EQ(Infer("aten.cat.default", {TL({T({0}), T({n, 3}, DType::kInt64), T({2, 3})})}),
            "f32[s0 + 2,3]");
  EXPECT_EQ(Infer("aten.stack.default", {TL({T({n}), T({n})}), I(1)}), "f32[s0,2]");
  EXPECT_THAT(Infer("aten.cat.default", {TL({T({n, 3}), T({n, 4})})}),
              HasSubstr("operand 1 of shape [s0,4] does not fit [s0,3] along dimension 0"));
}

TEST_F(DataMovementTest, CopiesKeepTheMemoryFormat) {
  const SymInt n = S("s0");
  const TensorMeta image = TensorMeta::Dense(DType::kFloat32, {n, 3, 8, 8}, {0, 2, 3, 1});
  const std::string same = "f32[s0,3,8,8] strides [192,1,24,3]";
  EXPECT_EQ(Infer("aten.clone.default", {image}), same);
  EXPECT_EQ(Infer("aten.clone.default", {image, MemoryFormat::kContiguous}), "f32[s0,3,8,8]");
  EXPECT_EQ(Infer("aten.flip.default", {image, L({2})}), same);
  EXPECT_EQ(Infer("aten.cat.default", {TL({image, image})}),
            "f32[2*s0,3,8,8] strides [192,1,24,3]");
  EXPECT_EQ(Infer("aten.constant_pad_nd.default", {image, L({1, 1})}),
            "f32[s0,3,8,10] strides [240,1,30,3]");
  EXPECT_EQ(Infer("aten.select_scatter.default", {image, T({n, 8, 8}), I(1), I(0)}), same);
  EXPECT_EQ(Infer("aten.index_put.default", {image, TL({T({2}, DType::kInt64)}), T({})}), same);
  EXPECT_EQ(Infer("dim_order_ops._clone_dim_order.default", {image}), same);
  EXPECT_THAT(Infer("dim_order_ops._clone_dim_order.default", {image, false, L({3, 2, 1, 0})}),
              HasSubstr("expected contiguous or channels last, got [3,2,1,0]"));
  EXPECT_THAT(Infer("aten.clone.default", {T({n, 3}), MemoryFormat::kChannelsLast}),
              HasSubstr("expected 4 dimensions"));
}

TEST_F(DataMovementTest, PaddingCountsSymbols) {
  const SymInt n = S("s0");
  EXPECT_EQ(Infer("aten.constant_pad_nd.default", {T({2, n}), L({1, 2})}), "f32[2,s0 + 3]");
  EXPECT_EQ(Infer("aten.reflection_pad1d.default", {T({2, n}), L({1, 1})}), "f32[2,s0 + 2]");
  EXPECT_THAT(Infer("aten.reflection_pad1d.default", {T({2, 4}), L({4, 0})}),
              HasSubstr("padding (4, 0) must be less than size 4 of dimension 1"));
  EXPECT_THAT(Infer("aten.constant_pad_nd.default", {T({2, 4}), L({-3, -2})}),
              HasSubstr("leaves nothing of size 4"));
}

TEST_F(DataMovementTest, SelectionSizesAreDataDependent) {
  const SymInt n = S("s0");
  EXPECT_EQ(Infer("aten.nonzero.default", {T({3, 4})}), "i64[u0,2] strides [1,u0]");
  EXPECT_EQ(symbols_.last, (SymRange{0, 12}));
  EXPECT_EQ(Infer("aten.masked_select.default", {T({n, 1}), T({1, 4}, DType::kBool)}), "f32[u1]");
  EXPECT_EQ(symbols_.last, (SymRange{0, SymRange::kUnboundedAbove}));
  EXPECT_EQ(Infer("aten.repeat_interleave.Tensor", {T({3}, DType::kInt64)}), "i64[u2]");
  EXPECT_EQ(Infer("aten.repeat_interleave.Tensor", {T({3}, DType::kInt64), I(n)}), "i64[s0]");
  EXPECT_THAT(InferValue("aten.nonzero.default", {T({3})}, nullptr),
              StatusIs(absl::StatusCode::kFailedPrecondition));
}

TEST_F(DataMovementTest, IndexPutsPositionsWherePyTorchDoes) {
  const SymInt n = S("s0"), k = S("s1");
  const TensorMeta self = T({n, 4, 5, 6});
  const TensorMeta index = T({k}, DType::kInt64);
  const TensorMeta mask = T({4, 5}, DType::kBool);
  EXPECT_EQ(Infer("aten.index.Tensor", {self, TL({index})}), "f32[s1,4,5,6]");
  EXPECT_EQ(Infer("aten.index.Tensor", {self, TL({None{}, index, index})}), "f32[s0,s1,6]");
  EXPECT_EQ(Infer("aten.index.Tensor", {self, TL({index, None{}, index})}), "f32[s1,4,6]");
  EXPECT_EQ(Infer("aten.index.Tensor", {self, TL({None{}, mask})}), "f32[s0,u0,6]");
  EXPECT_EQ(symbols_.last, (SymRange{0, 20}));
  // The other index determines the number of elements.
  EXPECT_EQ(Infer("aten.index.Tensor", {self, TL({index, mask})}), "f32[s1,6]");
  EXPECT_THAT(Infer("aten.index.Tensor", {self, TL({mask})}),
              HasSubstr("index 0: the mask [4,5] does not match [s0,4,5,6] from dimension 0"));
  EXPECT_THAT(Infer("aten.index.Tensor", {self, TL({T({2})})}),
              HasSubstr("expected int64, int32, bool or uint8, got float32"));
  EXPECT_THAT(Infer("aten.index.Tensor", {T({n}), TL({index, index})}), HasSubstr("too many"));
}

TEST_F(DataMovementTest, ScattersCompareSymbolsThatMayBeEqual) {
  const SymInt n = S("s0"), k = S("s1");
  const TensorMeta index = T({k, 4}, DType::kInt64);
  EXPECT_EQ(Infer("aten.gather.default", {T({n, 4}), I(0), index}), "f32[s1,4]");
  EXPECT_EQ(Infer("aten.scatter_add.default", {T({n, 4}), I(0), index, T({k, 4})}), "f32[s0,4]");
  EXPECT_EQ(
      Infer("aten.index_add.default", {T({n, 4}), I(0), T({k}, DType::kInt64), T({k, 4}), I(1)}),
      "f32[s0,4]");
  EXPECT_EQ(
      Infer("aten.slice_scatter.default", {T({n, 4}), T({n - 1, 4}), I(0), I(1), MetaValue()}),
      "f32[s0,4]");
  EXPECT_THAT(Infer("aten.gather.default", {T({n, 3}), I(0), index}),
              HasSubstr("index [s1,4] does not fit into self [s0,3] along dimension 0"));
  EXPECT_THAT(
      Infer("aten.scatter_reduce.two", {T({n, 4}), I(0), index, T({k, 4}), std::string("median")}),
      HasSubstr("got 'median'"));
  const TensorMeta flags = T({3}, DType::kBool);
  EXPECT_THAT(Infer("aten.scatter_reduce.two",
                    {flags, I(0), T({3}, DType::kInt64), flags, std::string("mean"), true}),
              HasSubstr("booleans have no mean"));
  EXPECT_THAT(Infer("aten.slice_scatter.default", {T({n, 4}), T({n, 4}), I(0), I(1), MetaValue()}),
              HasSubstr("src of shape [s0,4] does not replace a part of shape [s0 - 1,4]"));
}

TensorMeta ChannelsLast(std::vector<SymInt> sizes) {
  constexpr uint8_t kOrder[] = {0, 2, 3, 1};
  return TensorMeta::Dense(DType::kFloat32, std::move(sizes), kOrder);
}

TEST_F(DataMovementTest, RollKeepsTheLayoutOfBothParts) {
  const TensorMeta image = ChannelsLast({2, 3, 4, 5});
  const std::string kept = "f32[2,3,4,5] strides [60,1,15,3]";
  EXPECT_EQ(Infer("aten.roll.default", {image, L({1}), L({3})}), kept);
  EXPECT_EQ(Infer("aten.roll.default", {image, L({1, -1}), L({0, 2})}), kept);
  EXPECT_EQ(Infer("aten.roll.default", {image, L({5}), L({3})}), "f32[2,3,4,5]");
  EXPECT_EQ(Infer("aten.roll.default", {image, L({1}), L({})}), "f32[2,3,4,5]");
  EXPECT_EQ(Infer("aten.roll.default", {T({0, 3}), L({1}), L({7})}), "f32[0,3]");
  EXPECT_THAT(Infer("aten.roll.default", {image, L({1}), L({4})}), HasSubstr("out of range"));
  EXPECT_THAT(Infer("aten.roll.default", {T({}), L({1}), L({-1})}), HasSubstr("no dimensions"));
}

TEST_F(DataMovementTest, StackConcatenatesAndSplits) {
  const TensorMeta image = ChannelsLast({2, 3, 4, 5});
  const auto stack = [&](const TensorMeta& other, int dim) {
    return Infer("aten.stack.default", {MetaList{image, other}, I(dim)});
  };
  EXPECT_EQ(stack(image, 0), "f32[2,2,3,4,5] strides [120,60,1,15,3]");
  EXPECT_EQ(stack(image, 1), "f32[2,2,3,4,5] strides [120,3,1,30,6]");
  EXPECT_EQ(stack(image, 3), "f32[2,3,4,2,5] strides [120,1,30,15,3]");
  EXPECT_EQ(stack(image, 4), "f32[2,3,4,5,2]");
  EXPECT_EQ(stack(T({2, 3, 4, 5}), 1), "f32[2,2,3,4,5]");
}

TEST_F(DataMovementTest, RejectsWritesToOverlappingMemory) {
  TensorMeta self = T({4, 3});
  self.strides = {0, 1};
  EXPECT_THAT(Infer("aten.copy_.default", {self, T({3})}),
              HasSubstr("argument 'self': can't be written: its elements along dimension 0"));
}

TEST_F(DataMovementTest, SearchesAcceptOtherDtypesInEdgePrograms) {
  const struct {
    std::string_view op, boundaries;
  } kSearches[] = {{"aten.bucketize.Tensor", "boundaries"},
                   {"aten.searchsorted.Tensor", "sorted_sequence"}};
  for (const auto& [op, boundaries] : kSearches) {
    const OpOverload* overload = ops_->Find(op);
    ASSERT_NE(overload, nullptr) << op;
    ASSERT_OK_AND_ASSIGN(const DTypeRule rule,
                         DTypeRule::Create(*overload->schema(), overload->def()->dtypes));
    std::vector<DTypeRule::NamedDType> dtypes = {
        {"self", DType::kFloat32}, {boundaries, DType::kInt16}, {"__ret_0", DType::kInt64}};
    if (overload->schema()->ArgumentIndex("sorter").has_value()) {
      dtypes.push_back({"sorter", std::nullopt});
    }
    EXPECT_OK(rule.Validate(dtypes)) << op;
    dtypes[1].dtype = DType::kBool;
    EXPECT_FALSE(rule.Validate(dtypes).ok()) << op;
  }
}

TEST_F(DataMovementTest, MutableOperatorsReturnSelf) {
  TensorMeta self = T({4, 3});
  self.strides = {1, 4};
  EXPECT_EQ(Infer("aten.copy_.default", {self, T({3})}), "f32[4,3] strides [1,4]");
  EXPECT_EQ(Infer("aten.copy_.default", {self, T({4, 3}, DType::kInt64)}),
            "f32[4,3] strides [1,4]");
  EXPECT_EQ(Infer("aten.resize_.default", {self, L({4, 3})}), "f32[4,3] strides [1,4]");
  EXPECT_EQ(Infer("aten.resize_.default", {self, L({12})}), "f32[12]");
  EXPECT_THAT(Infer("aten.copy_.default", {self, T({2, 4, 3})}),
              HasSubstr("src [2,4,3] does not expand to self [4,3]"));
}

}  // namespace
}  // namespace belay::exir
