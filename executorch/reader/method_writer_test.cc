#include "executorch/reader/method_writer.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "executorch/reader/testing/loaded_method.h"
#include "executorch/reader/testing/pte_builder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/executor/instruction_source.h"

namespace belay::pte {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr absl::StatusCode kBroken = absl::StatusCode::kInvalidArgument;
constexpr absl::StatusCode kLacking = absl::StatusCode::kUnimplemented;

constexpr int8_t kDoubleType = 7;  // c10::ScalarType

// The arguments of the first kernel call.
std::vector<ValuePlan> ArgumentsOf(const belay::Program& program) {
  const MethodPlan& method = program.methods()[0];
  const auto& call = std::get<KernelCallPlan>(method.instructions.at(0));
  std::vector<ValuePlan> arguments;
  for (const uint32_t value : method.arguments_of(call.operands)) {
    arguments.push_back(method.values[value]);
  }
  return arguments;
}

// --- Arguments ---

TEST(MethodWriterTest, TranslatesMemoryFormatNumbers) {
  const auto open = [](std::function<int32_t(PteBuilder&)> format) {
    PteBuilder pte;
    const int32_t x = pte.Tensor({1, 2, 2, 2}), y = pte.Tensor({1, 2, 2, 2});
    pte.Input(x);
    pte.Call("aten::clone", "out", {x, format(pte), y, y});
    pte.Output(y);
    return OpenPte(pte.Serialize());
  };
  const std::pair<int64_t, MemoryFormat> formats[] = {{0, MemoryFormat::kContiguous},
                                                      {1, MemoryFormat::kPreserve},
                                                      {2, MemoryFormat::kChannelsLast},
                                                      {3, MemoryFormat::kChannelsLast3d}};
  for (const auto& [number, format] : formats) {
    ASSERT_OK_AND_ASSIGN(const belay::Program program,
                         open([&](PteBuilder& p) { return p.Int(number); }));
    EXPECT_EQ(std::get<MemoryFormat>(ArgumentsOf(program)[1]), format);
  }
  ASSERT_OK_AND_ASSIGN(const belay::Program none, open([](PteBuilder& p) { return p.Null(); }));
  EXPECT_TRUE(std::holds_alternative<None>(ArgumentsOf(none)[1]));
  for (const int64_t number : {int64_t{-1}, int64_t{4}, INT64_MAX}) {
    EXPECT_THAT(open([&](PteBuilder& p) { return p.Int(number); }),
                StatusIs(kBroken, HasSubstr(absl::StrCat("argument 'memory_format' is ", number,
                                                         ", which is not a memory format"))));
  }
}

TEST(MethodWriterTest, TranslatesDtypeNumbers) {
  const auto open = [](std::function<int32_t(PteBuilder&)> dtype) {
    PteBuilder pte;
    const int32_t x = pte.Tensor({2}), y = pte.Tensor({2}), z = pte.Tensor({2});
    pte.Input(x);
    pte.Call("aten::cumsum", "out", {x, pte.Int(0), dtype(pte), y, y});
    pte.Call("aten::cumsum", "out", {y, pte.Int(0), pte.Int(kFloatType), z, z});
    pte.Output(z);
    return OpenPte(pte.Serialize());
  };
  ASSERT_OK_AND_ASSIGN(const belay::Program program,
                       open([](PteBuilder& p) { return p.Int(kFloatType); }));
  EXPECT_EQ(std::get<DType>(ArgumentsOf(program)[2]), DType::kFloat32);
  ASSERT_OK_AND_ASSIGN(const belay::Program none, open([](PteBuilder& p) { return p.Null(); }));
  EXPECT_TRUE(std::holds_alternative<None>(ArgumentsOf(none)[2]));
  for (const int64_t number : {int64_t{-1}, int64_t{99}, int64_t{256 + kFloatType}}) {
    EXPECT_THAT(open([&](PteBuilder& p) { return p.Int(number); }),
                StatusIs(kBroken, HasSubstr(absl::StrCat("argument 'dtype' is ", number,
                                                         ", which is not a dtype"))));
  }
  EXPECT_THAT(open([](PteBuilder& p) {
                const int32_t computed = p.Int(kFloatType);
                p.Call("executorch_prim::add", "Scalar", {computed, p.Int(0), computed});
                return computed;
              }),
              StatusIs(kBroken, HasSubstr("argument 'dtype' is computed, expected a literal")));
}

TEST(MethodWriterTest, ListsOfAllKinds) {
  PteBuilder pte;
  const int32_t x = pte.Tensor({1, 1, 2, 2}), i = pte.Tensor({2}, kLongType);
  const int32_t y = pte.Tensor({1, 1, 4, 4}), z = pte.Tensor({1, 1, 2, 2});
  DoubleListT factors;
  factors.items = {2.0, 2.0};
  pte.method().values.push_back(std::make_unique<EValueT>());
  pte.method().values.back()->val.Set(std::move(factors));
  const auto doubles = static_cast<int32_t>(pte.method().values.size() - 1);
  pte.Input(x);
  pte.Input(i);
  pte.Call("aten::upsample_nearest2d", "vec_out", {x, pte.Null(), doubles, y, y});
  pte.Call("aten::index", "Tensor_out", {x, pte.OptionalTensorList({-1, -1, i}), z, z});
  pte.Output(y);
  pte.Output(z);
  ASSERT_OK_AND_ASSIGN(const auto loaded, Load(pte));
  const TestTensor image = TestTensor::Of<float>({1, 1, 2, 2}, {1, 2, 3, 4});
  const TestTensor rows = TestTensor::Of<int64_t>({2}, {1, 0});
  EXPECT_THAT(*loaded->Execute({belay::EValue(image.view()), belay::EValue(rows.view())}),
              ElementsAre(1, 1, 2, 2, 1, 1, 2, 2, 3, 3, 4, 4, 3, 3, 4, 4));
  EXPECT_THAT(ToVector<float>(*loaded->method->GetOutput(1).get_if<TensorView>()),
              ElementsAre(3, 4, 1, 2));
}

TEST(MethodWriterTest, ListsOfBools) {
  PteBuilder pte;
  const int32_t grad = pte.Tensor({1, 1, 2, 2}), x = pte.Tensor({1, 1, 2, 2}),
                w = pte.Tensor({1, 1, 1, 1});
  const int32_t grad_x = pte.Tensor({1, 1, 2, 2}), grad_w = pte.Tensor({1, 1, 1, 1}),
                grad_b = pte.Tensor({1});
  BoolListT mask;
  mask.items = {true, false, true};
  pte.method().values.push_back(std::make_unique<EValueT>());
  pte.method().values.back()->val.Set(std::move(mask));
  const auto bools = static_cast<int32_t>(pte.method().values.size() - 1);
  const auto pair = [&](int64_t number) {
    const int32_t value = pte.Int(number);
    return pte.IntList({value, value});
  };
  for (const int32_t value : {grad, x, w}) pte.Input(value);
  pte.Call(
      "aten::convolution_backward", "out",
      {grad, x, w, pte.IntList({pte.Int(1)}), pair(1), pair(0), pair(1), pte.Bool(false), pair(0),
       pte.Int(1), bools, grad_x, grad_w, grad_b, pte.TensorList({grad_x, grad_w, grad_b})});
  pte.Output(grad_x);
  ASSERT_OK_AND_ASSIGN(const belay::Program program, OpenPte(pte.Serialize()));
  const MethodPlan& method = program.methods()[0];
  const ListPlan list = std::get<ListPlan>(ArgumentsOf(program)[10]);
  ASSERT_EQ(list.elements.size(), 3u);
  EXPECT_TRUE(std::get<bool>(method.values[list.elements[0]]));
  EXPECT_FALSE(std::get<bool>(method.values[list.elements[1]]));
  EXPECT_TRUE(std::get<bool>(method.values[list.elements[2]]));
}

TEST(MethodWriterTest, StringsAndBools) {
  PteBuilder pte;
  const int32_t x = pte.Tensor({2}), y = pte.Tensor({2});
  pte.Input(x);
  pte.Call("aten::gelu", "out", {x, pte.String("tanh"), y, y});
  pte.Output(y);
  ASSERT_OK_AND_ASSIGN(const belay::Program program, OpenPte(pte.Serialize()));
  EXPECT_EQ(std::get<std::string>(ArgumentsOf(program)[1]), "tanh");
}

TEST(MethodWriterTest, DtypesAndMemoryFormatsAreShared) {
  PteBuilder pte;
  const int32_t x = pte.Tensor({1, 2, 2, 2});
  pte.Input(x);
  for (int i = 0; i < 2; ++i) {
    const int32_t y = pte.Tensor({1, 2, 2, 2}), z = pte.Tensor({1, 2, 2, 2});
    pte.Call("aten::clone", "out", {x, pte.Int(0), y, y});
    pte.Call("aten::cumsum", "out", {y, pte.Int(0), pte.Int(kFloatType), z, z});
    pte.Output(z);
  }
  ASSERT_OK_AND_ASSIGN(const belay::Program program, OpenPte(pte.Serialize()));
  size_t dtypes = 0, formats = 0;
  for (const ValuePlan& value : program.methods()[0].values) {
    dtypes += std::holds_alternative<DType>(value) ? 1 : 0;
    formats += std::holds_alternative<MemoryFormat>(value) ? 1 : 0;
  }
  EXPECT_EQ(dtypes, 1u);
  EXPECT_EQ(formats, 1u);
}

// Constants are immutable.
TEST(MethodWriterTest, ConstantWithDynamicSizesUsesFileSizes) {
  PteBuilder pte;
  const int32_t c = pte.Constant({2}, {1, 2});
  pte.tensor(c).shape_dynamism = TensorShapeDynamism::DYNAMIC_BOUND;
  pte.Output(c);
  ASSERT_OK_AND_ASSIGN(const auto loaded, Load(pte));
  EXPECT_TRUE(loaded->tensor(c).is_static());
  EXPECT_THAT(*loaded->Execute({}), ElementsAre(1, 2));
}

// --- Inputs ---

TEST(MethodWriterTest, InputsOfAllKindsExceptLists) {
  PteBuilder pte;
  const std::vector<int32_t> inputs = {pte.Null(), pte.Double(2.5), pte.Bool(true),
                                       pte.String("text")};
  for (const int32_t value : inputs) pte.Input(value);
  for (const int32_t value : inputs) pte.Output(value);
  ASSERT_OK_AND_ASSIGN(const auto loaded, Load(pte));
  EXPECT_OK(loaded->method->SetInput(1, belay::EValue(2.5)));
  EXPECT_EQ(loaded->method->SetInput(1, belay::EValue(2.0)).code(), kBroken);
  EXPECT_OK(loaded->method->SetInput(2, belay::EValue(true)));
  EXPECT_EQ(loaded->method->SetInput(2, belay::EValue(false)).code(), kBroken);
  EXPECT_OK(loaded->method->SetInput(3, belay::EValue(std::string("text"))));
  EXPECT_EQ(loaded->method->SetInput(3, belay::EValue(std::string("other"))).code(), kBroken);
  EXPECT_OK(loaded->method->SetInput(0, belay::EValue()));
}

TEST(MethodWriterTest, RejectsComputedInput) {
  PteBuilder pte;
  const int32_t n = pte.Int(5);
  pte.Input(n);
  pte.Call("executorch_prim::add", "Scalar", {n, pte.Int(1), n});
  pte.Output(n);
  EXPECT_THAT(OpenPte(pte.Serialize()),
              StatusIs(kLacking, HasSubstr("input 0: value 0 is computed by instructions")));
}

// --- Computed scalars ---

TEST(MethodWriterTest, ComputedScalarsStartWithFileValue) {
  PteBuilder pte;
  const int32_t x = pte.Double(1.5), flag = pte.Bool(true), n = pte.Int(7), zero = pte.Int(0);
  const int32_t no = pte.Bool(false), half = pte.Double(0);
  const int32_t x0 = pte.Double(0), flag0 = pte.Bool(false), n0 = pte.Int(0);
  // Outputs the initial values before the computed ones.
  pte.Move(x, x0);
  pte.Move(flag, flag0);
  pte.Move(n, n0);
  pte.Call("executorch_prim::mul", "Scalar", {x, pte.Double(2), x});
  pte.Call("executorch_prim::sym_not", "Scalar", {flag, flag});
  pte.Call("executorch_prim::add", "Scalar", {n, pte.Int(1), n});
  // These start at zero, which needs no initial assignment.
  pte.Call("executorch_prim::add", "Scalar", {zero, pte.Int(1), zero});
  pte.Call("executorch_prim::sym_not", "Scalar", {no, no});
  pte.Call("executorch_prim::add", "Scalar", {half, pte.Double(0.5), half});
  for (const int32_t value : {x0, flag0, n0, zero, no, half}) pte.Output(value);
  ASSERT_OK_AND_ASSIGN(const auto loaded, Load(pte));
  const auto number = [&](size_t i) { return loaded->method->GetOutput(i); };
  ASSERT_OK(loaded->Call({}));
  EXPECT_EQ(*number(0).get_if<double>(), 1.5);
  EXPECT_EQ(*number(1).get_if<bool>(), true);
  EXPECT_EQ(*number(2).get_if<int64_t>(), 7);
  EXPECT_EQ(*number(3).get_if<int64_t>(), 1);
  EXPECT_EQ(*number(4).get_if<bool>(), true);
  EXPECT_EQ(*number(5).get_if<double>(), 0.5);
  ASSERT_OK(loaded->Call({}));
  EXPECT_EQ(*number(0).get_if<double>(), 3);
  EXPECT_EQ(*number(1).get_if<bool>(), false);
  EXPECT_EQ(*number(2).get_if<int64_t>(), 8);
  EXPECT_EQ(*number(3).get_if<int64_t>(), 2);
  EXPECT_EQ(*number(4).get_if<bool>(), false);
  EXPECT_EQ(*number(5).get_if<double>(), 1);
}

// The operator determines the kind of a computed scalar, not the value in the file.
TEST(MethodWriterTest, ComputedScalarKindIsOperators) {
  PteBuilder pte;
  const int32_t two = pte.Int(2), five = pte.Int(5), real = pte.Double(2.5), yes = pte.Bool(true);
  const auto compute = [&](const char* name, std::vector<int32_t> args) {
    args.push_back(pte.Int(0));
    pte.Call(absl::StrCat("executorch_prim::", name), "Scalar", args);
    pte.Output(args.back());
  };
  compute("truediv", {five, two});
  compute("sym_float", {five});
  compute("eq", {five, two});
  compute("mul", {real, two});
  compute("sym_ite", {yes, real, real});
  compute("sym_ite", {yes, two, five});
  compute("ceil", {real});
  compute("neg", {real});
  ASSERT_OK_AND_ASSIGN(const auto loaded, Load(pte));
  ASSERT_OK(loaded->Call({}));
  const auto real_output = [&](size_t i) {
    const double* number = loaded->method->GetOutput(i).get_if<double>();
    return number == nullptr ? -99 : *number;
  };
  EXPECT_EQ(real_output(0), 2.5);
  EXPECT_EQ(real_output(1), 5);
  ASSERT_NE(loaded->method->GetOutput(2).get_if<bool>(), nullptr);
  EXPECT_FALSE(*loaded->method->GetOutput(2).get_if<bool>());
  EXPECT_EQ(real_output(3), 5);
  EXPECT_EQ(real_output(4), 2.5);
  EXPECT_EQ(*loaded->method->GetOutput(5).get_if<int64_t>(), 2);
  EXPECT_EQ(*loaded->method->GetOutput(6).get_if<int64_t>(), 3);
  EXPECT_EQ(real_output(7), -2.5);
}

TEST(MethodWriterTest, ItemScalarKindFollowsDtype) {
  PteBuilder pte;
  const std::pair<int32_t, int32_t> numbers[] = {
      {pte.Unplanned({}, kBoolType), pte.Int(0)},
      {pte.Unplanned({}, kDoubleType), pte.Int(0)},
      {pte.Unplanned({}, kLongType), pte.Double(0)},
  };
  for (const auto& [tensor, number] : numbers) {
    pte.Input(tensor);
    pte.Call("aten::_local_scalar_dense", "", {tensor, number});
    pte.Output(number);
  }
  ASSERT_OK_AND_ASSIGN(const auto loaded, Load(pte));
  const TestTensor truth = TestTensor::Of<bool>({}, {true});
  const TestTensor real = TestTensor::Of<double>({}, {0.25});
  const TestTensor whole = TestTensor::Of<int64_t>({}, {-3});
  ASSERT_OK(loaded->Call(
      {belay::EValue(truth.view()), belay::EValue(real.view()), belay::EValue(whole.view())}));
  EXPECT_EQ(*loaded->method->GetOutput(0).get_if<bool>(), true);
  EXPECT_EQ(*loaded->method->GetOutput(1).get_if<double>(), 0.25);
  EXPECT_EQ(*loaded->method->GetOutput(2).get_if<int64_t>(), -3);
}

TEST(MethodWriterTest, MovedScalarKindIsSources) {
  PteBuilder pte;
  const int32_t real = pte.Double(0), other = pte.Double(0), n = pte.Int(0), yes = pte.Bool(false);
  pte.Move(pte.Double(2.5), real);
  pte.Move(real, other);
  pte.Move(pte.Int(3), n);
  pte.Move(pte.Bool(true), yes);
  for (const int32_t value : {other, n, yes}) pte.Output(value);
  ASSERT_OK_AND_ASSIGN(const auto loaded, Load(pte));
  ASSERT_OK(loaded->Call({}));
  EXPECT_EQ(*loaded->method->GetOutput(0).get_if<double>(), 2.5);
  EXPECT_EQ(*loaded->method->GetOutput(1).get_if<int64_t>(), 3);
  EXPECT_EQ(*loaded->method->GetOutput(2).get_if<bool>(), true);
}

// --- Jumps ---

// n = 1 if the condition is false, else 0.
absl::StatusOr<int64_t> Jumped(std::function<int32_t(PteBuilder&)> condition,
                               const std::vector<belay::EValue>& inputs = {}) {
  PteBuilder pte;
  const int32_t n = pte.Int(0), value = condition(pte);
  const int32_t jump = pte.JumpFalse(value, 0);
  pte.Move(pte.Int(0), n);
  pte.JumpFalse(pte.Bool(false), 99);
  pte.instruction(jump).instr_args.AsJumpFalseCall()->destination_instruction =
      pte.next_instruction();
  pte.Move(pte.Int(1), n);
  pte.Output(n);
  ABSL_ASSIGN_OR_RETURN(const auto loaded, Load(pte));
  ABSL_RETURN_IF_ERROR(loaded->Call(inputs));
  return *loaded->method->GetOutput(0).get_if<int64_t>();
}

TEST(MethodWriterTest, JumpsOnConditionsOfAllKinds) {
  for (const bool truth : {false, true}) {
    const int64_t expected = truth ? 0 : 1;
    EXPECT_EQ(*Jumped([&](PteBuilder& p) { return p.Bool(truth); }), expected);
    const auto input = [&](PteBuilder& p) {
      const int32_t value = p.Bool(truth);
      p.Input(value);
      return value;
    };
    EXPECT_EQ(*Jumped(input, {belay::EValue(truth)}), expected);
    const auto computed = [&](PteBuilder& p) {
      const int32_t value = p.Bool(!truth);
      p.Call("executorch_prim::sym_not", "Scalar", {p.Bool(!truth), value});
      return value;
    };
    EXPECT_EQ(*Jumped(computed), expected);
    const auto tensor = [&](PteBuilder& p) {
      const int32_t value = p.Tensor({1, 1}, kBoolType);
      p.Input(value);
      return value;
    };
    const TestTensor flag = TestTensor::Of<bool>({1, 1}, {truth});
    EXPECT_EQ(*Jumped(tensor, {belay::EValue(flag.view())}), expected);
  }
}

TEST(MethodWriterTest, RejectsNonBoolOrMultiElementConditions) {
  EXPECT_THAT(Jumped([](PteBuilder& p) {
                const int32_t value = p.Tensor({1}, kBoolType);
                p.tensor(value).shape_dynamism = TensorShapeDynamism::DYNAMIC_BOUND;
                p.Input(value);
                return value;
              }),
              StatusIs(kLacking, HasSubstr("expected one element")));
  EXPECT_EQ(Jumped([](PteBuilder& p) {
              const int32_t value = p.Bool(false);
              p.Call("executorch_prim::add", "Scalar", {p.Int(1), p.Int(1), value});
              return value;
            })
                .status()
                .code(),
            kBroken);
}

TEST(MethodWriterTest, FreeCallIsNoOp) {
  Relu relu;
  relu.Free(relu.y);
  ASSERT_OK_AND_ASSIGN(const belay::Program program, OpenPte(relu.Serialize()));
  EXPECT_EQ(program.methods()[0].instructions.size(), 1u);
}

// --- Sources of instructions ---

TEST(MethodWriterTest, InstructionsBeforeFirstSourceLineHaveNone) {
  Relu relu;
  const int32_t z = relu.Tensor({2, 3});
  relu.Call("aten::neg", "out", {relu.y, z, z});
  relu.Output(z);
  relu.method().chains[0]->stacktrace.push_back(std::make_unique<FrameListT>());
  auto list = std::make_unique<FrameListT>();
  list->items.push_back(std::make_unique<FrameT>());
  list->items[0]->filename = "model.py";
  list->items[0]->lineno = 4;
  relu.method().chains[0]->stacktrace.push_back(std::move(list));
  ASSERT_OK_AND_ASSIGN(const belay::Program program, OpenPte(relu.Serialize()));
  const MethodPlan& method = program.methods()[0];
  EXPECT_EQ(InstructionSource(program, method, 0), "");
  EXPECT_EQ(InstructionSource(program, method, 1), " at 'model.py:4'");
}

// --- Specs ---

TEST(MethodWriterTest, InputAndOutputSpecsAreStrings) {
  Relu relu;
  relu.method().container_meta_type = std::make_unique<ContainerMetadataT>();
  relu.method().container_meta_type->encoded_inp_str = "in";
  relu.method().container_meta_type->encoded_out_str = "out";
  ASSERT_OK_AND_ASSIGN(const belay::Program program, OpenPte(relu.Serialize()));
  EXPECT_EQ(program.methods()[0].in_spec, "in");
  EXPECT_EQ(program.methods()[0].out_spec, "out");
  relu.method().container_meta_type->encoded_out_str = "\xff";
  EXPECT_THAT(OpenPte(relu.Serialize()),
              StatusIs(kBroken, HasSubstr("container_meta_type: the text is not UTF-8")));
}

// --- State ---

TEST(MethodWriterTest, BufferNamesAreUnique) {
  PteBuilder pte;
  // Names in the file, by value.
  for (const std::string name :
       {"n", "value 2", "", "n", "\xff", "value 4'", "value 6", "value 7"}) {
    const int32_t buffer = pte.Buffer({1}, {1});
    pte.tensor(buffer).data_buffer_idx = 0;
    pte.tensor(buffer).extra_tensor_info = std::make_unique<ExtraTensorInfoT>();
    pte.tensor(buffer).extra_tensor_info->fully_qualified_name = name;
    pte.Output(buffer);
  }
  ASSERT_OK_AND_ASSIGN(const belay::Program program, OpenPte(pte.Serialize()));
  std::vector<std::string> names;
  for (const StatePlan& state : program.methods()[0].state) names.push_back(state.name);
  EXPECT_THAT(names, ElementsAre("n", "value 2", "value 2'", "value 3", "value 4", "value 4'",
                                 "value 6", "value 7"));
}

// --- Delegates ---

TEST(MethodWriterTest, RepeatedDelegateCallsAndSharedBlobs) {
  Relu relu;
  const int32_t a = relu.Tensor({2, 3}), b = relu.Tensor({2, 3}), c = relu.Tensor({2, 3});
  relu.Delegate("demo", "blob", {relu.y, a});
  relu.Delegate("demo", "", {a, b});
  *relu.method().delegates[1]->processed = *relu.method().delegates[0]->processed;
  relu.Delegate("demo", "", {b, c});
  relu.instruction(3).instr_args.AsDelegateCall()->delegate_index = 0;
  relu.Output(c);
  ASSERT_OK_AND_ASSIGN(const belay::Program program, OpenPte(relu.Serialize()));
  const MethodPlan& method = program.methods()[0];
  ASSERT_EQ(method.delegates.size(), 2u);
  EXPECT_EQ(method.delegates[0].blob.data(), method.delegates[1].blob.data());
  EXPECT_EQ(std::get<DelegateCallPlan>(method.instructions[1]).delegate, 0u);
  EXPECT_EQ(std::get<DelegateCallPlan>(method.instructions[2]).delegate, 1u);
  EXPECT_EQ(std::get<DelegateCallPlan>(method.instructions[3]).delegate, 0u);
  EXPECT_THAT(method.outputs_of(std::get<DelegateCallPlan>(method.instructions[3]).operands),
              ElementsAre(c));
}

TEST(MethodWriterTest, InlineBlobs) {
  Relu relu;
  const int32_t a = relu.Tensor({2, 3});
  relu.Delegate("demo", "unused", {relu.y, a});
  relu.Output(a);
  relu.program().backend_delegate_data.push_back(std::make_unique<BackendDelegateInlineDataT>());
  relu.program().backend_delegate_data[0]->data = {'b', 'l', 'o', 'b'};
  relu.method().delegates[0]->processed->location = DataLocation::INLINE;
  relu.method().delegates[0]->processed->index = 0;
  ASSERT_OK_AND_ASSIGN(const belay::Program program, OpenPte(relu.Serialize()));
  const absl::Span<const std::byte> blob = program.methods()[0].delegates[0].blob;
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(blob.data()), blob.size()), "blob");
  relu.method().delegates[0]->processed->location = static_cast<DataLocation>(2);
  EXPECT_THAT(OpenPte(relu.Serialize()),
              StatusIs(kBroken, HasSubstr("processed: location 2 is unknown")));
}

TEST(MethodWriterTest, DelegateIdsAreUtf8) {
  const auto open = [](std::function<void(BackendDelegateT&)> change) {
    Relu relu;
    relu.Delegate("demo", "blob", {relu.y, relu.Tensor({2, 3})});
    change(*relu.method().delegates[0]);
    return OpenPte(relu.Serialize());
  };
  EXPECT_OK(open([](BackendDelegateT&) {}));
  EXPECT_THAT(open([](BackendDelegateT& d) { d.id = "\xff"; }),
              StatusIs(kBroken, HasSubstr("delegate 0: its id is missing or not UTF-8")));
  EXPECT_THAT(open([](BackendDelegateT& d) {
                d.compile_specs.push_back(std::make_unique<CompileSpecT>());
                d.compile_specs.push_back(std::make_unique<CompileSpecT>());
                d.compile_specs[0]->key = "fine";
                d.compile_specs[1]->key = "\xff";
              }),
              StatusIs(kBroken, HasSubstr("delegate 0: compile spec 1 has no key or no value")));
}

// The number of a delegate's outputs comes from the file, so the kinds of outputs are checked.
TEST(MethodWriterTest, DelegateOutputsAreTensors) {
  Relu relu;
  relu.Delegate("demo", "blob", {relu.y, relu.Tensor({2, 3}), relu.Int(3)});
  ASSERT_OK_AND_ASSIGN(const belay::Program program, OpenPte(relu.Serialize()));
  const MethodPlan& method = program.methods()[0];
  const OperandRange& operands = std::get<DelegateCallPlan>(method.instructions[1]).operands;
  EXPECT_THAT(method.outputs_of(operands), IsEmpty());
  EXPECT_EQ(method.arguments_of(operands).size(), 3u);
}

}  // namespace
}  // namespace belay::pte
