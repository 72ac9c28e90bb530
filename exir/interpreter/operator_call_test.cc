#include "exir/interpreter/operator_call.h"

#include <complex>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "exir/ops/standard_ops.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/kernels/reference/reference_kernels.h"

namespace belay::exir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Behavior of the test kernel.
absl::Status (*run)(KernelContext&) = nullptr;
bool accepts = true;
const Kernel kKernel = {
    .op = "mylib.op.default",
    .name = "Test",
    .engine = KernelEngine::kReference,
    .read_call = [](const KernelContext&, std::string_view, void*) { return absl::OkStatus(); },
    .run_call = [](KernelContext& context, const void*) { return run(context); },
    .accepts_call = [](const KernelContext&, const void*) { return accepts; },
};

class OperatorCallTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK(AddReferenceKernels(kernels_));
    ASSERT_OK(kernels_.Add({&kKernel, 1}));
    accepts = true;
    run = [](KernelContext&) { return absl::OkStatus(); };
  }
  const OpOverload* Define(std::string_view schema, MetaFn meta) {
    absl::StatusOr<const OpOverload*> op = ops_->Define({.schema = schema, .meta = meta});
    EXPECT_OK(op);
    return *op;
  }
  absl::StatusOr<std::vector<CallResult>> Call(const OpOverload* op, std::vector<Operand> operands,
                                               const CallOptions& options = {}) {
    return CallOperator(*op, absl::MakeSpan(operands), kernels_, options);
  }

  const std::unique_ptr<OpRegistry> ops_ = *CreateStandardOps();
  KernelRegistry kernels_;
  const TestTensor x_ = TestTensor::Of<float>({2}, {1, 2});
  OwnedValue x_value_ = OwnedValue::Borrow(x_, true);
};

constexpr MetaFn kLikeX = [](MetaContext& context) -> absl::Status {
  context.SetTensor(0, DType::kFloat32, {2});
  return absl::OkStatus();
};

TEST_F(OperatorCallTest, RequiresDefinedOperator) {
  EXPECT_THAT(
      Call(*ops_->Lookup("higher_order.cond"), {}),
      StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("has no schema or no meta kernel")));
  EXPECT_THAT(
      Call(Define("mylib::op(Tensor x) -> Tensor", nullptr), {Operand::Of(&x_value_)}),
      StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("has no schema or no meta kernel")));
  EXPECT_THAT(Call(*ops_->Lookup("aten.neg.default"), {}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("aten.neg.default takes 1 arguments, the call has 0")));
}

TEST_F(OperatorCallTest, RequiresSupportingKernel) {
  const OpOverload* op = Define("mylib::op(Tensor x) -> Tensor", kLikeX);
  EXPECT_OK(Call(op, {Operand::Of(&x_value_)}));
  EXPECT_OK(Call(op, {Operand::Of(&x_value_)}, {.engine = std::nullopt}));
  EXPECT_THAT(
      Call(op, {Operand::Of(&x_value_)}, {.engine = KernelEngine::kHighway}),
      StatusIs(absl::StatusCode::kUnimplemented,
               HasSubstr("no kernel of mylib.op.default supports the call (tensor f32[2])")));
  accepts = false;
  EXPECT_THAT(Call(op, {Operand::Of(&x_value_)}), StatusIs(absl::StatusCode::kUnimplemented));
  accepts = true;
  run = [](KernelContext&) { return absl::OutOfRangeError("from the kernel"); };
  EXPECT_THAT(Call(op, {Operand::Of(&x_value_)}),
              StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("from the kernel")));
}

TEST_F(OperatorCallTest, KernelsReceiveAllValueKinds) {
  static std::vector<std::string> kinds;
  const OpOverload* op = Define(
      "mylib::op(Tensor x, int i, float f, bool b, Scalar c, str s, ScalarType d, MemoryFormat m, "
      "int? n, Tensor[] l) -> Tensor",
      kLikeX);
  run = [](KernelContext& context) {
    kinds.clear();
    for (int i = 1; i < context.num_arguments(); ++i)
      kinds.emplace_back(context.argument(i).KindName());
    return absl::OkStatus();
  };
  std::vector<OwnedValue> values = {OwnedValue::Scalar(EValue(int64_t{1})),
                                    OwnedValue::Scalar(EValue(2.5)),
                                    OwnedValue::Scalar(EValue(true)),
                                    OwnedValue::Scalar(EValue(std::complex<double>(1, 2))),
                                    OwnedValue::String("mean"),
                                    OwnedValue::Scalar(EValue(DType::kInt8)),
                                    OwnedValue::Scalar(EValue(MemoryFormat::kContiguous)),
                                    OwnedValue()};
  std::vector<Operand> given = {Operand::Of(&x_value_)};
  for (OwnedValue& value : values) given.push_back(Operand::Of(&value));
  given.push_back(Operand::List({Operand::Of(&x_value_)}));
  ASSERT_OK(Call(op, given));
  const std::vector<std::string> of_values = kinds;
  std::vector<Operand> literals = {Operand::Of(&x_value_),
                                   Operand::Literal(SymExpr(1)),
                                   Operand::Literal(SymExpr::Float(2.5)),
                                   Operand::Literal(SymExpr::Bool(true)),
                                   Operand::Literal(std::complex<double>(1, 2)),
                                   Operand::Literal(std::string("mean")),
                                   Operand::Literal(DType::kInt8),
                                   Operand::Literal(MemoryFormat::kContiguous),
                                   Operand::Literal(SymExpr::Symbol("s0")),  // unbound symbol
                                   Operand::List({Operand::Of(&x_value_)})};
  ASSERT_OK(Call(op, literals));
  EXPECT_EQ(kinds, of_values);
  EXPECT_EQ(kinds[0], EValue(int64_t{1}).KindName());
  EXPECT_EQ(kinds[7], "none");
}

TEST_F(OperatorCallTest, MetaKernelsReceiveAllValueKinds) {
  static std::vector<MetaValue> seen;
  const OpOverload* op = Define(
      "mylib::op(Tensor x, int i, float f, bool b, Scalar c, str s, ScalarType d, MemoryFormat m, "
      "int? n) -> Tensor",
      [](MetaContext& context) -> absl::Status {
        seen.clear();
        for (int i = 0; i < context.num_arguments(); ++i) seen.push_back(context.argument(i));
        return kLikeX(context);
      });
  std::vector<OwnedValue> values = {OwnedValue::Scalar(EValue(int64_t{7})),
                                    OwnedValue::Scalar(EValue(2.5)),
                                    OwnedValue::Scalar(EValue(true)),
                                    OwnedValue::Scalar(EValue(std::complex<double>(1, 2))),
                                    OwnedValue::String("mean"),
                                    OwnedValue::Scalar(EValue(DType::kInt8)),
                                    OwnedValue::Scalar(EValue(MemoryFormat::kChannelsLast)),
                                    OwnedValue()};
  std::vector<Operand> given = {Operand::Of(&x_value_)};
  for (OwnedValue& value : values) given.push_back(Operand::Of(&value));
  ASSERT_OK(Call(op, given));
  ASSERT_EQ(seen.size(), 9u);
  const auto is = [](const MetaValue& value, const auto& expected) {
    const auto* found = value.get_if<std::decay_t<decltype(expected)>>();
    return found != nullptr && *found == expected;
  };
  ASSERT_NE(seen[0].get_if<TensorMeta>(), nullptr);
  EXPECT_EQ(seen[0].get_if<TensorMeta>()->sizes, std::vector<SymInt>{2});
  EXPECT_TRUE(is(seen[1], SymExpr(7)));
  EXPECT_TRUE(is(seen[2], 2.5));
  EXPECT_TRUE(is(seen[3], true));
  EXPECT_TRUE(is(seen[4], std::complex<double>(1, 2)));
  EXPECT_TRUE(is(seen[5], std::string("mean")));
  EXPECT_TRUE(is(seen[6], DType::kInt8));
  EXPECT_TRUE(is(seen[7], MemoryFormat::kChannelsLast));
  EXPECT_TRUE(seen[8].is_none());
}

TEST_F(OperatorCallTest, RejectsInvalidMetaKernelResults) {
  struct Case {
    std::string_view schema;
    MetaFn meta;
    absl::StatusCode code;
    std::string_view error;
  };
  for (const Case& c : {
           Case{"mylib::op(Tensor x) -> Tensor",
                [](MetaContext& context) {
                  context.SetTensor(0, DType::kFloat32, std::vector<SymInt>(17, 1));
                  return absl::OkStatus();
                },
                absl::StatusCode::kInternal, "gives 17 sizes and 17 strides"},
           Case{"mylib::op.b(Tensor x) -> Tensor",
                [](MetaContext& context) {
                  TensorMeta meta = TensorMeta::Contiguous(DType::kFloat32, {2});
                  meta.strides.clear();
                  context.SetOutput(0, meta);
                  return absl::OkStatus();
                },
                absl::StatusCode::kInternal, "gives 1 sizes and 0 strides"},
           Case{"mylib::op.c(Tensor x) -> Tensor",
                [](MetaContext& context) {
                  context.SetTensor(0, DType::kFloat32, {int64_t{1} << 40, int64_t{1} << 40});
                  return absl::OkStatus();
                },
                absl::StatusCode::kInvalidArgument, "no tensor has sizes"},
           Case{"mylib::op.d(Tensor x) -> Tensor[]",
                [](MetaContext& context) {
                  context.SetOutput(0, MetaList{MetaValue(SymExpr(1))});
                  return absl::OkStatus();
                },
                absl::StatusCode::kInternal, "returns a list that contains non-tensors"},
           Case{"mylib::op.e(Tensor x) -> Tensor[]",
                [](MetaContext& context) {
                  context.SetOutput(0, MetaList{MetaValue(TensorMeta::Contiguous(
                                           DType::kFloat32, {int64_t{1} << 35}))});
                  return absl::OkStatus();
                },
                absl::StatusCode::kResourceExhausted, "takes more than"},
           Case{"mylib::op.f(Tensor(a) x) -> Tensor(a)",
                [](MetaContext& context) {
                  context.SetTensor(0, DType::kFloat32, {SymInt::Symbol("u0")});
                  return absl::OkStatus();
                },
                absl::StatusCode::kInternal, "gives no layout of its view"},
           Case{"mylib::op.g(Tensor(a) x) -> Tensor(a)",
                [](MetaContext& context) {
                  context.SetOutput(0, SymExpr(1));
                  return absl::OkStatus();
                },
                absl::StatusCode::kInternal, "gives no layout of its view"},
           Case{"mylib::op.i(Tensor(a) x) -> Tensor(a)",
                [](MetaContext& context) {
                  TensorMeta meta = TensorMeta::Contiguous(DType::kFloat32, {2});
                  meta.strides = {SymInt::Symbol("u0")};
                  context.SetOutput(0, meta);
                  return absl::OkStatus();
                },
                absl::StatusCode::kInternal, "gives no layout of its view"},
           Case{"mylib::op.j(Tensor(a) x) -> Tensor(a)",
                [](MetaContext& context) {
                  TensorMeta meta = TensorMeta::Contiguous(DType::kFloat32, {2});
                  meta.storage_offset = SymInt::Symbol("u0");
                  context.SetOutput(0, meta);
                  return absl::OkStatus();
                },
                absl::StatusCode::kInternal, "gives no layout of its view"},
           Case{"mylib::op.k(Tensor(a) x) -> Tensor(a)",
                [](MetaContext& context) {
                  context.SetTensor(0, DType::kFloat32, std::vector<SymInt>(17, 1));
                  return absl::OkStatus();
                },
                absl::StatusCode::kInternal, "gives no layout of its view"},
           Case{"mylib::op.h(Tensor(a) x) -> Tensor(a)",
                [](MetaContext& context) {
                  context.SetTensor(0, DType::kFloat32, {3});
                  return absl::OkStatus();
                },
                absl::StatusCode::kOutOfRange, "a view of sizes"},
       }) {
    EXPECT_THAT(Call(Define(c.schema, c.meta), {Operand::Of(&x_value_)}),
                StatusIs(c.code, HasSubstr(std::string(c.error))))
        << c.schema;
  }
}

TEST_F(OperatorCallTest, KernelsResizeWithinInferredBounds) {
  const OpOverload* op =
      Define("mylib::op(Tensor x) -> Tensor", [](MetaContext& context) -> absl::Status {
        ABSL_ASSIGN_OR_RETURN(const SymExpr n, context.FreshSymbol({0, 8}));
        context.SetTensor(0, DType::kFloat32, {n, n});
        return absl::OkStatus();
      });
  run = [](KernelContext& context) { return context.Output(0, {3, 2}).status(); };
  ASSERT_OK_AND_ASSIGN(const std::vector<CallResult> results, Call(op, {Operand::Of(&x_value_)}));
  EXPECT_EQ(results[0].values[0].tensor()->sizes, Sizes({3, 2}));
  struct Case {
    absl::Status (*run)(KernelContext&);
    absl::StatusCode code;
    std::string_view error;
  };
  for (const Case& c : {
           Case{[](KernelContext& context) { return context.Output(0, {3}).status(); },
                absl::StatusCode::kInvalidArgument, "expected rank 2, the kernel gives sizes"},
           Case{[](KernelContext& context) {
                  return context.Output(0, std::vector<int64_t>(17, 1)).status();
                },
                absl::StatusCode::kInvalidArgument, "the kernel gives"},
           Case{[](KernelContext& context) {
                  return context.Output(0, {int64_t{1} << 40, int64_t{1} << 40}).status();
                },
                absl::StatusCode::kInvalidArgument, "no tensor has sizes"},
           Case{[](KernelContext& context) {
                  return context.Output(0, {int64_t{1} << 20, int64_t{1} << 20}).status();
                },
                absl::StatusCode::kResourceExhausted, "takes more than"},
           Case{[](KernelContext& context) {
                  absl::Status first = context.Output(0, {3, 2}).status();
                  return first.ok() ? context.Output(0, {2, 2}).status() : first;
                },
                absl::StatusCode::kInvalidArgument, "expected sizes"},
       }) {
    run = c.run;
    EXPECT_THAT(Call(op, {Operand::Of(&x_value_)}),
                StatusIs(c.code, HasSubstr(std::string(c.error))))
        << c.error;
  }
}

TEST_F(OperatorCallTest, RejectsWritesToReadOnlyValues) {
  OwnedValue constant = OwnedValue::Borrow(x_, false);
  const OpOverload* copy = *ops_->Lookup("aten.copy_.default");
  const TestTensor y = TestTensor::Of<float>({2}, {5, 6});
  OwnedValue from = OwnedValue::Borrow(y, false);
  const Operand source = Operand::Of(&from), blocking = Operand::Literal(false);
  EXPECT_THAT(Call(copy, {Operand::Of(&constant), source, blocking}),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("must not be written to")));
  ASSERT_OK_AND_ASSIGN(const std::vector<CallResult> results,
                       Call(copy, {Operand::Of(&x_value_), source, blocking}));
  EXPECT_THAT(ToVector<float>(x_.view()), ElementsAre(5, 6));
  EXPECT_TRUE(results[0].values[0].SharesStorage(x_value_));
}

TEST_F(OperatorCallTest, ViewsOptionCopiesViews) {
  const OpOverload* view = *ops_->Lookup("aten.view.default");
  const std::vector<Operand> operands = {
      Operand::Of(&x_value_),
      Operand::List({Operand::Literal(SymExpr(2)), Operand::Literal(SymExpr(1))})};
  ASSERT_OK_AND_ASSIGN(const std::vector<CallResult> views, Call(view, operands));
  EXPECT_TRUE(views[0].values[0].SharesStorage(x_value_));
  ASSERT_OK_AND_ASSIGN(const std::vector<CallResult> copies,
                       Call(view, operands, {.views = false}));
  EXPECT_FALSE(copies[0].values[0].SharesStorage(x_value_));
  EXPECT_THAT(ToVector<float>(*copies[0].values[0].tensor()), ElementsAre(1, 2));
}

// If results are unbounded, or their element count overflows, only the rank is planned.
TEST_F(OperatorCallTest, KernelsDetermineUnboundedSizes) {
  const OpOverload* op =
      Define("mylib::op(Tensor x) -> Tensor", [](MetaContext& context) -> absl::Status {
        std::vector<SymInt> sizes;
        for (int d = 0; d < 6; ++d) {
          ABSL_ASSIGN_OR_RETURN(SymExpr n, context.FreshSymbol({0, SymRange::kUnboundedAbove}));
          sizes.push_back(std::move(n));
        }
        context.SetTensor(0, DType::kFloat32, sizes);
        return absl::OkStatus();
      });
  run = [](KernelContext& context) { return context.Output(0, {1, 2, 1, 3, 1, 1}).status(); };
  ASSERT_OK_AND_ASSIGN(const std::vector<CallResult> results, Call(op, {Operand::Of(&x_value_)}));
  EXPECT_EQ(results[0].values[0].tensor()->sizes, Sizes({1, 2, 1, 3, 1, 1}));
}

// Results are dense without overlap, in the meta kernel's dimension order, if it has one.
TEST_F(OperatorCallTest, ResultsAreDense) {
  struct Case {
    std::vector<SymInt> strides;
    Strides want;
  };
  static std::vector<SymInt> given;
  const OpOverload* op = Define("mylib::op(Tensor x) -> Tensor", [](MetaContext& context) {
    TensorMeta meta = TensorMeta::Contiguous(DType::kFloat32, {2, 3});
    meta.strides = given;
    context.SetOutput(0, meta);
    return absl::OkStatus();
  });
  for (const Case& c : {
           Case{{3, 1}, {3, 1}},
           Case{{1, 2}, {1, 2}},
           Case{{8, 2}, {3, 1}},
           Case{{1, 8}, {1, 2}},
           Case{{0, 0}, {3, 1}},
           Case{{SymInt::Symbol("s0"), 1}, {3, 1}},
       }) {
    given = c.strides;
    ASSERT_OK_AND_ASSIGN(const std::vector<CallResult> results, Call(op, {Operand::Of(&x_value_)}));
    EXPECT_EQ(results[0].values[0].tensor()->strides, c.want) << c.strides[0].ToString();
  }
}

// The schema determines which argument a result is, or views.
TEST_F(OperatorCallTest, ResultsAliasAccordingToSchema) {
  const auto like_x = [](MetaContext& context) -> absl::Status {
    for (size_t k = 0; k < context.schema().returns.size(); ++k) {
      context.SetTensor(static_cast<int>(k), DType::kFloat32, {2});
    }
    return absl::OkStatus();
  };
  const TestTensor y = TestTensor::Of<float>({2}, {5, 6});
  OwnedValue y_value = OwnedValue::Borrow(y, true), number = OwnedValue::Scalar(EValue(2.5));
  const Operand x = Operand::Of(&x_value_), second = Operand::Of(&y_value);
  struct Case {
    std::string_view schema;
    std::vector<Operand> operands;
    std::vector<const OwnedValue*> shared;  // null: a new tensor
  };
  for (const Case& c : {
           Case{"mylib::op(Tensor(a!) x, Tensor(b!) y) -> (Tensor(b!), Tensor(a!))",
                {x, second},
                {&y_value, &x_value_}},
           Case{"mylib::op(Tensor(a!) x, Tensor y) -> Tensor(a!)",
                {Operand::Literal(2.5), second},
                {nullptr}},
           Case{"mylib::op(Tensor(a) x, Tensor(b) y) -> (Tensor(a), Tensor)",
                {x, second},
                {&x_value_, nullptr}},
           Case{"mylib::op(Tensor(a) x, Tensor(b) y) -> Tensor(b)", {x, second}, {nullptr}},
           Case{"mylib::op(Tensor(a) x) -> Tensor(b)", {x}, {nullptr}},
           Case{"mylib::op(Tensor(a!) x) -> Tensor(b)", {x}, {nullptr}},
           Case{"mylib::op(Tensor(a) x) -> Tensor(a)", {Operand::Literal(2.5)}, {nullptr}},
           Case{"mylib::op(Tensor(a) x) -> Tensor(a)", {Operand::Of(&number)}, {nullptr}},
       }) {
    SCOPED_TRACE(std::string(c.schema));
    const std::unique_ptr<OpRegistry> ops = *CreateStandardOps();
    ASSERT_OK_AND_ASSIGN(const OpOverload* op, ops->Define({.schema = c.schema, .meta = like_x}));
    ASSERT_OK_AND_ASSIGN(const std::vector<CallResult> results, Call(op, c.operands));
    ASSERT_EQ(results.size(), c.shared.size());
    for (size_t k = 0; k < results.size(); ++k) {
      const OwnedValue& result = results[k].values[0];
      EXPECT_EQ(result.SharesStorage(x_value_), c.shared[k] == &x_value_);
      EXPECT_EQ(result.SharesStorage(y_value), c.shared[k] == &y_value);
    }
  }
}

TEST_F(OperatorCallTest, WrittenArgumentsKeepTheirSizes) {
  const OpOverload* op = Define("mylib::op(Tensor(a!) x) -> Tensor(a!)", kLikeX);
  run = [](KernelContext& context) { return context.Output(0, {3}).status(); };
  EXPECT_THAT(Call(op, {Operand::Of(&x_value_)}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("expected sizes [2], the kernel gives [3]")));
}

TEST_F(OperatorCallTest, DescribesUnsupportedCalls) {
  const OpOverload* op = Define("mylib::op(Tensor x, int n) -> Tensor", kLikeX);
  accepts = false;
  EXPECT_THAT(
      Call(op, {Operand::Of(&x_value_), Operand::Literal(SymExpr(3))}),
      StatusIs(absl::StatusCode::kUnimplemented,
               HasSubstr("no kernel of mylib.op.default supports the call (tensor f32[2], ")));
}

// reshape returns a view if strides allow it, otherwise a copy; the computed result decides.
TEST_F(OperatorCallTest, CompositeOperatorsReturnViewsIfPossible) {
  const OpOverload* reshape = *ops_->Lookup("aten.reshape.default");
  const auto sizes = [](int64_t n) { return Operand::List({Operand::Literal(SymExpr(n))}); };
  const TestTensor rows = TestTensor::Of<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  const TestTensor columns = TestTensor::Strided<float>({2, 3}, {1, 2}, {1, 2, 3, 4, 5, 6});
  for (const bool views : {true, false}) {
    for (const TestTensor* tensor : {&rows, &columns}) {
      OwnedValue value = OwnedValue::Borrow(*tensor, true);
      ASSERT_OK_AND_ASSIGN(const std::vector<CallResult> results,
                           Call(reshape, {Operand::Of(&value), sizes(6)}, {.views = views}));
      EXPECT_EQ(results[0].values[0].SharesStorage(value), views && tensor == &rows);
      EXPECT_THAT(ToVector<float>(*results[0].values[0].tensor()), ElementsAre(1, 2, 3, 4, 5, 6));
    }
  }
}

}  // namespace
}  // namespace belay::exir
