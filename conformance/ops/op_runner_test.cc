#include "conformance/ops/op_runner.h"

#include <cstring>

#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/kernel_interface/kernel_arguments.h"

// Tests that the harness finds faults: each test runs an operator with one fault.
namespace belay::conformance {
namespace {

using exir::MetaContext;
using exir::OpDef;
using exir::OpRegistry;
using exir::SymExpr;
using exir::TensorMeta;

absl::Status SameMeta(MetaContext& c) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* self, c.Tensor(0));
  if (self->dtype != DType::kFloat32) return absl::InvalidArgumentError("dtype");
  c.SetTensor(0, self->dtype, self->sizes);
  return absl::OkStatus();
}
absl::Status WrongShapeMeta(MetaContext& c) {
  c.SetTensor(0, DType::kFloat32, {7});
  return absl::OkStatus();
}
absl::Status FixedSizeMeta(MetaContext& c) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* self, c.Tensor(0));
  c.SetTensor(0, self->dtype, {self->sizes[0].AsInt().has_value() ? self->sizes[0] : SymExpr(9)});
  return absl::OkStatus();
}
absl::Status TransposedMeta(MetaContext& c) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* self, c.Tensor(0));
  TensorMeta out = *self;
  for (SymExpr& stride : out.strides) stride = stride * 2;
  c.SetOutput(0, out);
  return absl::OkStatus();
}
absl::Status DataDependentMeta(MetaContext& c) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* self, c.Tensor(0));
  ABSL_ASSIGN_OR_RETURN(const SymExpr size,
                        c.FreshSymbol({0, self->sizes[0].AsInt().value_or(100)}));
  c.SetTensor(0, self->dtype, {size});
  return absl::OkStatus();
}

struct SelfCall {
  const TensorView* self = nullptr;
  MutableArgument target;  // self, for the kernel that writes to it

  static absl::StatusOr<SelfCall> Read(const KernelArguments& arguments) {
    SelfCall call;
    ABSL_ASSIGN_OR_RETURN(call.self, arguments.Tensor("self"));
    ABSL_ASSIGN_OR_RETURN(call.target, arguments.Mutable("self"));
    return call;
  }
};

// Computes 2 * input, with the sizes `sizes(input)`.
absl::Status Double(KernelContext& c, const SelfCall& call) {
  const TensorView* const self = call.self;
  ABSL_ASSIGN_OR_RETURN(TensorView * out, c.Output(0, self->sizes));
  for (StridedIterator<2> it(self->sizes, {self->strides, out->strides}); !it.done(); it.Next()) {
    out->as<float>()[it.offset(1)] = 2 * self->as<float>()[it.offset(0)];
  }
  return absl::OkStatus();
}
absl::Status LeavesTheLastOut(KernelContext& c, const SelfCall& call) {
  ABSL_RETURN_IF_ERROR(Double(c, call));
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, c.PlannedOutput(0));
  out->as<float>()[out->numel() - 1] = 0;
  return absl::OkStatus();
}
absl::Status WritesBehindTheEnd(KernelContext& c, const SelfCall& call) {
  ABSL_RETURN_IF_ERROR(Double(c, call));
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, c.PlannedOutput(0));
  out->as<float>()[out->numel()] = 0;
  return absl::OkStatus();
}
absl::Status WritesItsInput(KernelContext& c, const SelfCall& call) {
  ABSL_RETURN_IF_ERROR(Double(c, call));
  call.self->as<float>()[0] = 9;
  return absl::OkStatus();
}
absl::Status FirstTwo(KernelContext& c, const SelfCall& call) {
  ABSL_ASSIGN_OR_RETURN(TensorView * out, c.Output(0, {2}));
  std::memcpy(out->data, call.self->data, 8);
  return absl::OkStatus();
}
absl::Status DoubleInPlace(KernelContext& c, const SelfCall& call) {
  ABSL_ASSIGN_OR_RETURN(TensorView * self, c.MutableTensor(call.target));
  for (int64_t i = 0; i < self->numel(); ++i) self->as<float>()[i] *= 2;
  return absl::OkStatus();
}
absl::Status NotWritten(KernelContext&, const SelfCall&) {
  return absl::UnimplementedError("later");
}

constexpr KernelEngine kReference = KernelEngine::kReference;
constexpr OpDef kOps[] = {
    {.schema = "t::right(Tensor self) -> Tensor", .meta = &SameMeta, .traits = exir::kCore},
    {.schema = "t::value(Tensor self) -> Tensor", .meta = &SameMeta},
    {.schema = "t::overrun(Tensor self) -> Tensor", .meta = &SameMeta},
    {.schema = "t::input(Tensor self) -> Tensor", .meta = &SameMeta},
    {.schema = "t::unwritten(Tensor self) -> Tensor", .meta = &SameMeta},
    {.schema = "t::shape(Tensor self) -> Tensor", .meta = &WrongShapeMeta},
    {.schema = "t::symbolic(Tensor self) -> Tensor", .meta = &FixedSizeMeta},
    {.schema = "t::layout(Tensor self) -> Tensor", .meta = &TransposedMeta},
    {.schema = "t::dynamic(Tensor self) -> Tensor", .meta = &DataDependentMeta},
    {.schema = "t::in_place(Tensor(a!) self) -> Tensor(a!)", .meta = &SameMeta},
    {.schema = "t::none(Tensor self) -> Tensor", .meta = &SameMeta},
    {.schema = "t::no_meta(Tensor self) -> Tensor"},
};
constexpr Kernel kKernels[] = {
    KernelRow<&Double>("t.right.default", "self", "Double", kReference),
    KernelRow<&LeavesTheLastOut>("t.value.default", "self", "LeavesTheLastOut", kReference),
    KernelRow<&WritesBehindTheEnd>("t.overrun.default", "self", "WritesBehindTheEnd", kReference),
    KernelRow<&WritesItsInput>("t.input.default", "self", "WritesItsInput", kReference),
    KernelRow<&NotWritten>("t.unwritten.default", "self", "NotWritten", kReference),
    KernelRow<&Double>("t.shape.default", "self", "Double", kReference),
    KernelRow<&Double>("t.symbolic.default", "self", "Double", kReference),
    KernelRow<&Double>("t.layout.default", "self", "Double", kReference),
    KernelRow<&FirstTwo>("t.dynamic.default", "self", "FirstTwo", kReference),
    KernelRow<&DoubleInPlace>("t.in_place.default", "self", "DoubleInPlace", kReference),
};

CaseTensor Tensor(const std::vector<float>& values) {
  CaseTensor tensor;
  tensor.sizes = {static_cast<int64_t>(values.size())};
  tensor.strides = {1};
  tensor.data =
      std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
  return tensor;
}

class OpRunnerTest : public ::testing::Test {
 protected:
  OpRunnerTest() { EXPECT_OK(kernels_.Add(kKernels)); }
  CaseResult Run(const std::string& op, const OpCase& op_case) const {
    const OpCaseFile file = {
        .op = "t." + op + ".default", .schema = "", .family = "", .tags = {}, .cases = {}};
    EXPECT_EQ(runner_.SkipReason(file), "");
    return runner_.Run(file, op_case);
  }
  // Returns the failed check for {1, 2, 3} → {2, 4, 6}; "" if none.
  std::string Check(const std::string& op) const {
    OpCase c;
    c.args.emplace_back(Tensor({1, 2, 3}));
    c.expect = std::vector<CaseValue>{Tensor({2, 4, 6})};
    return Run(op, c).check;
  }
  const std::unique_ptr<OpRegistry> ops_ = *OpRegistry::Create({kOps});
  KernelRegistry kernels_;
  const OpRunner runner_{*ops_, kernels_, kReference};
};

TEST_F(OpRunnerTest, AcceptsCorrectKernel) { EXPECT_EQ(Check("right"), ""); }
TEST_F(OpRunnerTest, FindsWrongValues) { EXPECT_EQ(Check("value"), "values"); }
TEST_F(OpRunnerTest, FindsOutOfBoundsWrites) { EXPECT_EQ(Check("overrun"), "memory"); }
TEST_F(OpRunnerTest, FindsWritesToInputs) { EXPECT_EQ(Check("input"), "memory"); }
TEST_F(OpRunnerTest, FindsKernelErrors) { EXPECT_EQ(Check("unwritten"), "kernel"); }
TEST_F(OpRunnerTest, FindsWrongShapes) { EXPECT_EQ(Check("shape"), "meta"); }
TEST_F(OpRunnerTest, FindsWrongSymbolicShapes) { EXPECT_EQ(Check("symbolic"), "symbolic"); }
TEST_F(OpRunnerTest, FindsWrongStrides) { EXPECT_EQ(Check("layout"), "layout"); }
TEST_F(OpRunnerTest, InPlaceOperatorsReturnTheirArgument) { EXPECT_EQ(Check("in_place"), ""); }

TEST_F(OpRunnerTest, SupportsDataDependentSizes) {
  OpCase c;
  c.args.emplace_back(Tensor({1, 2, 3}));
  c.expect = std::vector<CaseValue>{Tensor({1, 2})};
  EXPECT_EQ(Run("dynamic", c).check, "");
  c.args[0] = Tensor({1});  // two elements exceed the bound of one
  EXPECT_EQ(Run("dynamic", c).check, "kernel");
}

TEST_F(OpRunnerTest, MutatedArgumentsAreCompared) {
  OpCase c;
  c.args.emplace_back(Tensor({1}));
  c.expect = std::vector<CaseValue>{Tensor({2})};
  c.mutated = {{"self", Tensor({2})}};
  EXPECT_EQ(Run("in_place", c).check, "");
  c.mutated = {{"self", Tensor({1})}};
  EXPECT_EQ(Run("in_place", c).check, "mutated");
}

TEST_F(OpRunnerTest, ErrorsMustBeRejected) {
  OpCase c;
  c.args.emplace_back(Tensor({1}));
  c.error = CaseError{"shape", "no"};
  EXPECT_EQ(Run("right", c).check, "error");
  EXPECT_EQ(Run("unwritten", c).check, "error");  // kUnimplemented is not a rejection
  std::get<CaseTensor>(c.args[0]).dtype = DType::kInt32;
  EXPECT_EQ(Run("right", c).check, "");
}

TEST_F(OpRunnerTest, ArgumentsMustFitTheSchema) {
  OpCase c;
  c.expect = std::vector<CaseValue>{Tensor({2})};
  EXPECT_EQ(Run("right", c).check, "case");
  c.kwargs = {{"other", Tensor({1})}};
  EXPECT_EQ(Run("right", c).check, "case");
  c.kwargs = {{"self", Tensor({1})}};
  EXPECT_EQ(Run("right", c).check, "");
  c.args.emplace_back(Tensor({1}));
  EXPECT_EQ(Run("right", c).check, "case");
}

TEST_F(OpRunnerTest, ReportsSkipReasons) {
  OpCaseFile file;
  file.op = "t.unknown.default";
  EXPECT_EQ(runner_.SkipReason(file), "the operator is not declared");
  file.op = "t.no_meta.default";
  EXPECT_EQ(runner_.SkipReason(file), "the operator has no meta kernel");
  file.op = "t.none.default";
  EXPECT_EQ(runner_.SkipReason(file), "no reference kernel");
  file.op = "t.right.default";
  EXPECT_EQ(OpRunner(*ops_, kernels_, KernelEngine::kHighway).SkipReason(file),
            "no highway kernel");
}

TEST_F(OpRunnerTest, DeclarationsAreCompared) {
  OpCaseFile file = {.op = "t.right.default",
                     .schema = "t::right(Tensor self) -> Tensor",
                     .family = "",
                     .tags = {{"core", true}},
                     .cases = {}};
  EXPECT_TRUE(runner_.CheckDeclaration(file).empty());
  file.schema = "t::right(Tensor self, int dim) -> Tensor";
  file.tags["core"] = false;
  EXPECT_EQ(runner_.CheckDeclaration(file).size(), 2u);
}

}  // namespace
}  // namespace belay::conformance
