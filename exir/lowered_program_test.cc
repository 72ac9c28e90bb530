// Tests of lowered programs: control flow, state, bounds. Compares results with the interpreter,
// call by call.
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "exir/compare/call.h"
#include "exir/interpreter/interpreter.h"
#include "exir/ir/graph_editor.h"
#include "exir/ops/standard_ops.h"
#include "exir/pipeline.h"
#include "exir/testing/program_text.h"
#include "exir/testing/programs.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/executor/method.h"
#include "runtime/kernels/reference/reference_kernels.h"

namespace belay::exir {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class LoweredProgramTest : public ::testing::Test {
 protected:
  LoweredProgramTest() {
    EXPECT_OK(AddReferenceKernels(kernels_));
    auto ops = CreateStandardOps();
    EXPECT_OK(ops.status());
    ops_ = *std::move(ops);
  }

  absl::Status Load(std::string_view text, const PipelineOptions& options = {}) {
    absl::StatusOr<ExportedProgram> edge = ToEdge(ParseOrDie(text, *ops_));
    if (!edge.ok()) return edge.status();
    program_ = std::make_unique<ExportedProgram>(*std::move(edge));
    // The text has no content of constants; those of rank 0 are set to 1.5.
    for (auto& [name, tensor] : program_->state_dict) {
      if (tensor.sizes().empty()) tensor = ConstantTensor::Scalar(DType::kFloat32, 1.5);
    }
    MethodPrograms methods;
    methods.emplace_back("forward", program_->Clone());
    const absl::StatusOr<ProgramImage> image = LowerPrograms(std::move(methods), options, &report_);
    if (!image.ok()) return image.status();
    auto file = OpenImage(*image);
    if (!file.ok()) return file.status();
    file_ = std::make_unique<Program>(*std::move(file));
    auto method = Method::Load(*file_, "forward", kernels_, backends_);
    if (!method.ok()) return method.status();
    method_ = std::make_unique<Method>(*std::move(method));
    auto interpreter = Interpreter::Create(*program_, kernels_);
    if (!interpreter.ok()) return interpreter.status();
    interpreter_ = std::make_unique<Interpreter>(*std::move(interpreter));
    return absl::OkStatus();
  }

  // Calls both and expects equal results. Returns the runtime's.
  template <class... Tensors>
  std::vector<std::vector<float>> Call(const Tensors&... inputs) {
    const std::vector<EValue> values = {EValue(inputs.view())...};
    const CallOutcome got = RunCall(*method_, values);
    EXPECT_OK(got.status);
    EXPECT_EQ(FirstDifference({RunCall(*interpreter_, values)}, {got}, Closeness()), "");
    std::vector<std::vector<float>> results;
    for (const OwnedValue& output : got.outputs) {
      results.push_back(ToVector<float>(*output.tensor()));
    }
    return results;
  }

  static TestTensor Pred(bool value) { return TestTensor::Of<bool>({}, {value}); }
  static TestTensor F32(const Sizes& sizes, const std::vector<float>& values) {
    return TestTensor::Of<float>(sizes, values);
  }

  std::unique_ptr<OpRegistry> ops_;
  KernelRegistry kernels_;
  BackendRegistry backends_;
  std::unique_ptr<ExportedProgram> program_;
  std::unique_ptr<Program> file_;
  std::unique_ptr<Method> method_;
  std::unique_ptr<Interpreter> interpreter_;
  PipelineReport report_;
};

// Flags like accumulate of index_put must be literals at lowering.
TEST_F(LoweredProgramTest, RejectsComputedFlagsNamingTheNode) {
  EXPECT_THAT(Load(R"(program aten {
    ranges { s0: [2, 9] }
    graph(%x: f32[s0,2] user_input, %i: i64[3] user_input, %v: f32[3,2] user_input) {
      %n: symint(s0) = aten.sym_size.int(%x, 0)
      %q: symbool(Eq(s0, 3)) = _operator.eq(%n, 3)
      %y: f32[s0,2] = aten.index_put.default(%x, [%i], %v, %q)
      return (%y user_output)
    }
  })"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("aten::index_put.default: argument 'accumulate': expected "
                                       "a bool that is known, got bool Eq(s0, 3)"),
                             HasSubstr("%y"))));
}

// An empty result may have any offset, also that of an argument.
TEST_F(LoweredProgramTest, EmptyResultsMayHaveAnyOffset) {
  ASSERT_OK(Load(R"(program aten {
    ranges { s0: [2, 6] }
    graph(%x: f32[s0,0] user_input) {
      %a: f32[s0,0] = aten.tril.default(%x)
      return (%a user_output)
    } })"));
  Call(F32({3, 0}, {}));
}

// The result of the first branch is alive while the second runs.
TEST_F(LoweredProgramTest, ConsecutiveBranchesKeepTheirResults) {
  ASSERT_OK(Load(R"(program edge {
    graph(%p: b8[] user_input, %q: b8[] user_input, %x: f32[32] user_input) {
      %a: f32[32] = higher_order.cond(%p, graph#1, graph#2, [%x])
      %b: f32[32] = higher_order.cond(%q, graph#3, graph#4, [%x])
      %c: f32[32] = higher_order.cond(%p, graph#5, graph#6, [%b])
      %d: f32[32] = edge.aten.sub.Tensor(%a, %b)
      %e: f32[32] = edge.aten.mul.Tensor(%d, %c)
      return (%e user_output, %a user_output)
    }
    graph yes1(%y: f32[32]) {
      %s: f32[32] = edge.aten.mul.Tensor(%y, %y)
      %t: f32[32] = edge.aten.neg.default(%s)
      return (%t)
    }
    graph no1(%y: f32[32]) {
      %s: f32[32] = edge.aten.add.Tensor(%y, %y)
      return (%s)
    }
    graph yes2(%y: f32[32]) {
      %s: f32[32] = edge.aten.mul.Tensor(%y, %y)
      %t: f32[32] = edge.aten.neg.default(%s)
      return (%t)
    }
    graph no2(%y: f32[32]) {
      %s: f32[32] = edge.aten.add.Tensor(%y, %y)
      return (%s)
    }
    graph yes3(%y: f32[32]) {
      %s: f32[32] = edge.aten.mul.Tensor(%y, %y)
      %t: f32[32] = edge.aten.neg.default(%s)
      return (%t)
    }
    graph no3(%y: f32[32]) {
      %s: f32[32] = edge.aten.add.Tensor(%y, %y)
      return (%s)
    }
  })"));
  std::vector<float> x(32);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i) - 9;
  for (const bool p : {true, false}) {
    for (const bool q : {true, false}) Call(Pred(p), Pred(q), F32({32}, x));
  }
}

TEST_F(LoweredProgramTest, LoopsRunZeroOneAndManyTimes) {
  ASSERT_OK(Load(R"(program edge {
    ranges { s0: [0, 8] }
    graph(%s: f32[2] user_input, %x: f32[s0,2] user_input, %f: f32[2] user_input) {
      %m: f32[s0,2], %n: f32[s0,2] = higher_order.map_impl(graph#1, [%x], [%f])
      %c: f32[2], %d: f32[2], %y: f32[s0,2] = higher_order.scan(graph#2, [%s, %f], [%m], [%f])
      return (%m user_output, %n user_output, %c user_output, %d user_output, %y user_output)
    }
    graph map_body(%row: f32[2], %f: f32[2]) {
      %a: f32[2] = edge.aten.mul.Tensor(%row, %f)
      return (%a, %row)
    }
    graph scan_body(%c: f32[2], %d: f32[2], %row: f32[2], %f: f32[2]) {
      %a: f32[2] = edge.aten.add.Tensor(%c, %row)
      %b: f32[2] = edge.aten.mul.Tensor(%a, %f)
      return (%d, %a, %b)
    }
  })"));
  for (const int64_t rows : {3, 0, 8, 1, 0}) {
    std::vector<float> x(2 * rows);
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i + 1);
    const auto results = Call(F32({2}, {1, 2}), F32({rows, 2}, x), F32({2}, {0.5f, 2}));
    ASSERT_EQ(results.size(), 5u);
    EXPECT_EQ(results[4].size(), x.size());
    if (rows == 0) EXPECT_THAT(results[2], ElementsAre(1, 2));
  }
}

TEST_F(LoweredProgramTest, WhileLoopsRunZeroAndManyTimes) {
  ASSERT_OK(Load(R"(program edge {
    graph(%i: f32[] user_input, %x: f32[2] user_input, %n: f32[] user_input, %one: f32[] user_input) {
      %j: f32[], %y: f32[2], %z: f32[2] = higher_order.while_loop(graph#1, graph#2, [%i, %x, %x], [%n, %one])
      return (%y user_output, %z user_output, %j user_output)
    }
    graph test(%i: f32[], %x: f32[2], %w: f32[2], %n: f32[], %one: f32[]) {
      %p: b8[] = edge.aten.lt.Tensor(%i, %n)
      return (%p)
    }
    graph step(%i: f32[], %x: f32[2], %w: f32[2], %n: f32[], %one: f32[]) {
      %k: f32[] = edge.aten.add.Tensor(%i, %one)
      %z: f32[2] = edge.aten.add.Tensor(%x, %w)
      return (%k, %z, %x)
    }
  })"));
  for (const float n : {0.0f, 1.0f, 9.0f}) {
    Call(F32({}, {0}), F32({2}, {1, 5}), F32({}, {n}), F32({}, {1}));
  }
}

// Uses before and after the buffer changes; the initial content is kept and restored by reset.
TEST_F(LoweredProgramTest, BuffersKeepInitialContentAndReadOrder) {
  ASSERT_OK(Load(R"(program edge {
    constants { state "n": f32[] }
    graph(%n: f32[] buffer "n", %x: f32[] user_input) {
      %before: f32[] = edge.aten.mul.Tensor(%n, %x)
      %a: f32[] = edge.aten.add.Tensor(%n, %x)
      %after: f32[] = edge.aten.mul.Tensor(%a, %n)
      return (%a buffer_mutation "n", %before user_output, %after user_output, %n user_output)
    }
  })"));
  const TestTensor x = F32({}, {3});
  const std::vector<std::vector<float>> first = {{4.5f}, {6.75f}, {1.5f}};
  EXPECT_EQ(Call(x), first);
  EXPECT_EQ(Call(x)[2], std::vector<float>{4.5f});
  Call(x);
  method_->ResetState();
  ASSERT_OK(interpreter_->ResetState());
  EXPECT_EQ(Call(x), first);
}

// Returns the operators that the method calls, in order.
std::vector<std::string> Calls(const Method& method) {
  std::vector<std::string> calls;
  for (const InstructionInfo& info : method.instructions()) calls.emplace_back(info.op);
  return calls;
}

// Two updates of one cache, with uses before, between and after them.
constexpr char kCache[] = R"(program edge {
    constants { state "n": f32[] }
    graph(%n: f32[] buffer "n", %cache: f32[4] user_input, %i: i64[1] user_input, %j: i64[1] user_input, %x: f32[1] user_input) {
      %before: f32[4] = edge.aten.mul.Tensor(%cache, %n)
      %a: f32[4] = edge.aten.index_put.default(%cache, [%i], %x)
      %between: f32[4] = edge.aten.mul.Tensor(%a, %n)
      %b: f32[4] = edge.aten.index_copy.default(%a, 0, %j, %x)
      %behind: f32[4] = edge.aten.mul.Tensor(%b, %n)
      return (%b user_input_mutation "cache", %before user_output, %between user_output, %behind user_output)
    }
  })";

TEST_F(LoweredProgramTest, UpdatesInPlaceIfEnabled) {
  PipelineOptions options;
  for (const bool in_place : {false, true}) {
    options.emit.write_state_in_place = in_place;
    ASSERT_OK(Load(kCache, options));
    const std::vector<std::string> calls = Calls(*method_);
    for (const char* op : {"aten.index_put_.default", "aten.index_copy_.default"}) {
      EXPECT_EQ(std::count(calls.begin(), calls.end(), op), in_place ? 1 : 0) << op;
    }
    EXPECT_EQ(std::count(calls.begin(), calls.end(), "aten.copy_.default"), in_place ? 0 : 1);
    const TestTensor cache = F32({4}, {1, 2, 3, 4}), x = F32({1}, {10});
    const TestTensor i = TestTensor::Of<int64_t>({1}, {0}), j = TestTensor::Of<int64_t>({1}, {2});
    const std::vector<EValue> inputs = {EValue(cache.view()), EValue(i.view()), EValue(j.view()),
                                        EValue(x.view())};
    for (size_t k = 0; k < inputs.size(); ++k) ASSERT_OK(method_->SetInput(k, inputs[k]));
    ASSERT_OK(method_->Execute());
    EXPECT_THAT(ToVector<float>(cache.view()), ElementsAre(10, 2, 10, 4));
    const auto output = [&](size_t k) {
      return ToVector<float>(*method_->GetOutput(k).get_if<TensorView>());
    };
    EXPECT_THAT(output(0), ElementsAre(1.5, 3, 4.5, 6));
    EXPECT_THAT(output(1), ElementsAre(15, 3, 4.5, 6));
    EXPECT_THAT(output(2), ElementsAre(15, 3, 15, 6));
  }
}

// A replaced part is written in place: e.g. cache[start:start + 2, 1] = x.
TEST_F(LoweredProgramTest, ReplacesPartsOfABufferInPlaceIfEnabled) {
  PipelineOptions options;
  for (const bool in_place : {false, true}) {
    options.emit.write_state_in_place = in_place;
    ASSERT_OK(Load(R"(program edge {
    constants { state "n": f32[4,2] }
    graph(%n: f32[4,2] buffer "n", %x: f32[2,2] user_input, %y: f32[4] user_input) {
      %a: f32[4,2] = edge.aten.slice_scatter.default(%n, %x, 0, 1, 3)
      %b: f32[4,2] = edge.aten.select_scatter.default(%a, %y, 1, 0)
      %c: f32[4,2] = edge.aten.mul.Tensor(%b, %b)
      return (%b buffer_mutation "n", %c user_output)
    }
  })",
                   options));
    const std::vector<std::string> calls = Calls(*method_);
    for (const char* op : {"belay.slice_scatter_.default", "belay.select_scatter_.default"}) {
      EXPECT_EQ(std::count(calls.begin(), calls.end(), op), in_place ? 1 : 0) << op;
    }
    EXPECT_EQ(std::count(calls.begin(), calls.end(), "aten.copy_.default"), in_place ? 0 : 1);
    const TestTensor x = F32({2, 2}, {1, 2, 3, 4}), y = F32({4}, {5, 6, 7, 8});
    EXPECT_THAT(Call(x, y)[0], ElementsAre(25, 0, 36, 4, 49, 16, 64, 0));
    ASSERT_OK_AND_ASSIGN(const TensorView state, method_->GetState("n"));
    EXPECT_THAT(ToVector<float>(state), ElementsAre(5, 0, 6, 2, 7, 4, 8, 0));
  }
}

// The old content must not be overwritten while it is used.
TEST_F(LoweredProgramTest, DoesNotUpdateInPlaceWhileTheOldContentIsUsed) {
  PipelineOptions options;
  options.emit.write_state_in_place = true;
  const auto replaced = [&](std::string_view from, std::string_view to) {
    return Replaced(kCache, {{from, to}});
  };
  const std::string programs[] = {
      // Used after the update
      replaced("mul.Tensor(%b, %n)", "mul.Tensor(%b, %cache)"),
      // or returned.
      replaced("%before user_output", "%cache user_output"),
  };
  for (const std::string& program : programs) {
    ASSERT_OK(Load(program, options)) << program;
    for (const std::string& op : Calls(*method_)) EXPECT_NE(op, "aten.index_put_.default");
  }
}

// A buffer keeps written content between calls; reset restores the initial content.
TEST_F(LoweredProgramTest, BuffersAreUpdatedInPlace) {
  PipelineOptions options;
  options.emit.write_state_in_place = true;
  ASSERT_OK(Load(R"(program edge {
    constants { state "n": f32[4] }
    graph(%n: f32[4] buffer "n", %i: i64[1] user_input, %x: f32[1] user_input) {
      %a: f32[4] = edge.aten.index_put.default(%n, [%i], %x, true)
      return (%a buffer_mutation "n", %a user_output)
    }
  })",
                 options));
  EXPECT_EQ(Calls(*method_), std::vector<std::string>{"aten.index_put_.default"});
  const TestTensor i = TestTensor::Of<int64_t>({1}, {2}), x = F32({1}, {5});
  const auto first = Call(i, x);
  EXPECT_EQ(first[0][2], 5);
  EXPECT_EQ(Call(i, x)[0][2], 10);
  method_->ResetState();
  ASSERT_OK(interpreter_->ResetState());
  EXPECT_EQ(Call(i, x), first);
}

TEST_F(LoweredProgramTest, MutatesInputsOfTheCaller) {
  ASSERT_OK(Load(R"(program edge {
    graph(%x: f32[2] user_input, %y: f32[2] user_input) {
      %a: f32[2] = edge.aten.add.Tensor(%x, %y)
      %b: f32[2] = edge.aten.mul.Tensor(%a, %x)
      return (%a user_input_mutation "x", %b user_output, %x user_output)
    }
  })"));
  const TestTensor x = F32({2}, {1, 2}), y = F32({2}, {10, 20});
  ASSERT_OK(method_->SetInput(0, x.view()));
  ASSERT_OK(method_->SetInput(1, y.view()));
  ASSERT_OK(method_->Execute());
  EXPECT_THAT(ToVector<float>(x.view()), ElementsAre(11, 22));
  EXPECT_THAT(ToVector<float>(*method_->GetOutput(0).get_if<TensorView>()), ElementsAre(11, 44));
  EXPECT_THAT(ToVector<float>(*method_->GetOutput(1).get_if<TensorView>()), ElementsAre(1, 2));
}

TEST_F(LoweredProgramTest, NamesUnboundedSizeWithItsSymbol) {
  EXPECT_THAT(Load(R"(program edge {
    ranges { s0: [1, inf] }
    graph(%x: f32[2,s0] user_input) {
      %y: f32[2,s0] = edge.aten.neg.default(%x)
      return (%y user_output)
    }
  })"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("dimension 1 is s0"), HasSubstr("without an upper bound"),
                             HasSubstr("--max-size"), HasSubstr("Dim(..., max=...) for s0"))));
}

TEST_F(LoweredProgramTest, NamesUnknownOperatorAndUnboundedSizes) {
  EXPECT_THAT(
      Load(R"(program aten {
    ranges { u0: [0, inf] s0: [0, inf] }
    graph(%x: b8[s0] user_input) {
      %n: i64[u0,1] = aten.nonzero.default(%x)
      %y: i64[u0,1] = vendor.mish.default(%n)
      return (%y user_output)
    }
  })"),
      StatusIs(
          absl::StatusCode::kUnimplemented,
          AllOf(HasSubstr("unknown operator vendor.mish.default"),
                HasSubstr("'n': dimension 0 is u0: it depends on the data; it may have a bound "
                          "once the sizes above have; else pass --max-size u0=VALUE"))));
}

// The exporter's assumptions are checked before any computation, in both dialects.
TEST_F(LoweredProgramTest, NamesTheViolatedGuard) {
  for (const char* dialect : {"training", "aten"}) {
    SCOPED_TRACE(dialect);
    ASSERT_OK(Load(absl::StrCat("program ", dialect, R"( {
      ranges { s0: [2, 16] s1: [2, 16] }
      guards { "2*L['x'].size()[0] > 3 + L['y'].size()[0]" "L['x'].stride()[0] == 1" }
      graph(%x: f32[s0] user_input, %y: f32[s1] user_input) {
        %a: f32[s0] = aten.relu.default(%x)
        return (%a user_output)
      }
    })")));
    ASSERT_EQ(report_.unchecked_guards.size(), 1);
    EXPECT_EQ(report_.unchecked_guards[0].guard, "L['x'].stride()[0] == 1");
    report_ = {};
    Call(F32({4}, {1, -1, 2, -2}), F32({4}, {1, 2, 3, 4}));
    const TestTensor x = F32({4}, {1, 2, 3, 4}), y = F32({5}, {1, 2, 3, 4, 5});
    ASSERT_OK(method_->SetInput(0, EValue(x.view())));
    ASSERT_OK(method_->SetInput(1, EValue(y.view())));
    EXPECT_THAT(
        method_->Execute(),
        StatusIs(
            absl::StatusCode::kFailedPrecondition,
            HasSubstr("2*L['x'].size()[0] > 3 + L['y'].size()[0] (executorch_prim.gt.Scalar(8, 8) "
                      "is false)")));
    Call(F32({4}, {1, -1, 2, -2}), F32({2}, {1, 2}));
  }
}

TEST_F(LoweredProgramTest, ChecksAssumedEqualSizesAtTheCall) {
  ASSERT_OK(Load(R"(program aten {
    ranges { s0: [0, 16] s1: [0, 16] }
    graph(%x: f32[s0] user_input, %y: f32[s1] user_input) {
      %a: f32[s0] = aten.add.Tensor(%x, %y, 1)
      return (%a user_output)
    }
  })"));
  for (int64_t n : {0, 1, 3}) {
    const std::vector<float> ones(static_cast<size_t>(n), 1);
    Call(F32({n}, ones), F32({n}, ones));
  }
  const TestTensor x = F32({1}, {1}), y = F32({3}, {1, 2, 3});
  ASSERT_OK(method_->SetInput(0, EValue(x.view())));
  ASSERT_OK(method_->SetInput(1, EValue(y.view())));
  EXPECT_THAT(method_->Execute(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("the sizes s0 and s1 that 'a' broadcasts must be equal "
                                 "(executorch_prim.eq.Scalar(1, 3) is false)")));
}

TEST_F(LoweredProgramTest, ChecksInputsWhoseSizesAreExpressions) {
  ASSERT_OK(Load(R"text(program aten {
    ranges { s0: [2, 16] }
    graph(%x: f32[s0] user_input, %y: f32["FloorDiv(s0, 2)"] user_input) {
      %a: f32[s0] = aten.relu.default(%x)
      return (%a user_output, %y user_output)
    }
  })text"));
  Call(F32({5}, {1, -1, 2, -2, 3}), F32({2}, {1, 2}));
  const TestTensor x = F32({4}, {1, 2, 3, 4}), y = F32({3}, {1, 2, 3});
  ASSERT_OK(method_->SetInput(0, EValue(x.view())));
  ASSERT_OK(method_->SetInput(1, EValue(y.view())));
  EXPECT_THAT(method_->Execute(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("input 'y': dimension 0: expected FloorDiv(s0, 2)")));
}

// Assertions of the program that ranges do not prove.
TEST_F(LoweredProgramTest, AssertionsOfTheProgramRun) {
  for (const char* dialect : {"training", "aten"}) {
    SCOPED_TRACE(dialect);
    ASSERT_OK(Load(absl::StrCat("program ", dialect, R"text( {
      ranges { u0: [-inf, inf] }
      graph(%x: i64[] user_input, %y: f32[2] user_input) {
        %n: symint(u0) = aten._local_scalar_dense.default(%x)
        aten.sym_constrain_range.default(%n, min=1, max=7)
        %ne: symbool(Ne(u0, 4)) = _operator.ne(%n, 4)
        aten._assert_scalar.default(%ne, "not four")
        %ok: b8[] = aten.ne.Scalar(%x, 6)
        aten._assert_async.msg(%ok, "not six")
        %a: f32[2] = aten.relu.default(%y)
        return (%a user_output)
  }
})text")));
    const TestTensor y = F32({2}, {1, -2});
    constexpr std::pair<int64_t, std::string_view> kCases[] = {
        {3, ""}, {4, "not four"}, {6, "not six"}, {0, "1"}, {8, "7"}};
    for (const auto& [n, message] : kCases) {
      const TestTensor x = TestTensor::Of<int64_t>({}, {n});
      ASSERT_OK(method_->SetInput(0, EValue(x.view())));
      ASSERT_OK(method_->SetInput(1, EValue(y.view())));
      const absl::Status status = method_->Execute();
      EXPECT_EQ(status.ok(), message.empty()) << n << ": " << status;
      EXPECT_THAT(status.ToString(), HasSubstr(std::string(message)));
    }
  }
}

// Batch normalization in training returns results and updates the running statistics.
TEST_F(LoweredProgramTest, OperatorsMayReturnResultsAndWrite) {
  ASSERT_OK(Load(R"(program training {
    constants { state "m": f32[2] state "v": f32[2] }
    graph(%m: f32[2] buffer "m", %v: f32[2] buffer "v", %x: f32[3,2] user_input) {
      %y: f32[3,2], %mean: f32[2], %dev: f32[2] = aten._native_batch_norm_legit.default(%x, none, none, %m, %v, true, 0.1, 0.0)
      %moved: f32[2] = aten.neg.default(%m)
      return (%y user_output, %moved user_output, %v user_output)
    }
  })"));
  const TestTensor x = F32({3, 2}, {1, 10, 2, 20, 3, 30});
  const auto near = [](const std::vector<float>& want) {
    return ::testing::Pointwise(::testing::FloatNear(1e-5f), want);
  };
  const float one = std::sqrt(1.5f);
  const std::vector<float> y = {-one, -one, 0, 0, one, one};
  for (const auto& [mean, variance] : {std::pair(0.2f, 0.1f), std::pair(0.38f, 0.19f)}) {
    ASSERT_OK(method_->SetInput(0, EValue(x.view())));
    ASSERT_OK(method_->Execute());
    EXPECT_THAT(ToVector<float>(*method_->GetOutput(0).get_if<TensorView>()), near(y));
    EXPECT_THAT(ToVector<float>(*method_->GetOutput(1).get_if<TensorView>()),
                near({-mean, -10 * mean}));
    EXPECT_THAT(ToVector<float>(*method_->GetOutput(2).get_if<TensorView>()),
                near({variance, 100 * variance}));
  }
}

TEST_F(LoweredProgramTest, SizesThatDependOnDataHaveBounds) {
  ASSERT_OK(Load(R"(program edge {
    ranges { u0: [0, 6] }
    graph(%x: f32[6] user_input) {
      %p: b8[6] = edge.aten.gt.Scalar(%x, 0)
      %y: f32[u0] = edge.aten.masked_select.default(%x, %p)
      %z: f32[u0] = edge.aten.neg.default(%y)
      %w: f32[u0] = edge.aten.add.Tensor(%z, %y)
      return (%z user_output, %w user_output)
    }
  })"));
  for (const auto& x : std::vector<std::vector<float>>{
           {1, -1, 2, -2, 3, 0}, {1, 2, 3, 4, 5, 6}, {0, 0, 0, 0, 0, 0}, {-1, 0, 0, 0, 0, 7}}) {
    Call(F32({6}, x));
  }
}

// All kinds of memory sharing together: views of views, concatenations, elementwise chains,
// residuals.
TEST_F(LoweredProgramTest, SharedMemoryChangesNoResult) {
  const std::string_view text = R"(program edge {
    graph(%x: f32[4,16] user_input, %y: f32[64] user_input) {
      %a: f32[4,16] = edge.aten.mul.Tensor(%x, %x)
      %v: f32[64] = edge.aten.view_copy.default(%a, [64])
      %b: f32[64] = edge.aten.add.Tensor(%v, %y)
      %w: f32[4,16] = edge.aten.view_copy.default(%b, [4, 16])
      %top: f32[2,16] = edge.aten.slice_copy.Tensor(%w, 0, 0, 2, 1)
      %low: f32[2,16] = edge.aten.slice_copy.Tensor(%w, 0, 2, 4, 1)
      %t: f32[2,16] = edge.aten.neg.default(%top)
      %l: f32[2,16] = edge.aten.exp.default(%low)
      %c: f32[4,16] = edge.aten.cat.default([%l, %t], 0)
      %d: f32[4,16] = edge.aten.sub.Tensor(%c, %a)
      %e: f32[1,4,16] = edge.aten.unsqueeze_copy.default(%d, 0)
      %f: f32[4,1,16] = edge.aten.permute_copy.default(%e, [1, 0, 2])
      %g: f32[4,1,16] = edge.aten.add.Tensor(%f, %f)
      %h: f32[16] = edge.aten.select_copy.int(%w, 0, 3)
      %i: f32[4,1,16] = edge.aten.mul.Tensor(%g, %h)
      return (%i user_output, %top user_output)
    }
  })";
  ASSERT_OK(Load(text));
  const MethodMemory memory = report_.memory[0].memory;
  EXPECT_GT(memory.elided_instructions, 5u);
  EXPECT_LT(memory.lower_bound, memory.written_lower_bound);
  std::vector<float> x(64), y(64);
  for (size_t i = 0; i < 64; ++i) {
    x[i] = static_cast<float>(i) / 64;
    y[i] = 1 - static_cast<float>(i * 7 % 13) / 8;
  }
  const auto shared = Call(F32({4, 16}, x), F32({64}, y));
  PipelineOptions plain;
  plain.emit.memory = {.share = false, .reorder = false};
  ASSERT_OK(Load(text, plain));
  EXPECT_EQ(Call(F32({4, 16}, x), F32({64}, y)), shared);
}

TEST_F(LoweredProgramTest, UserPassesRunLastAndMustKeepAnEdgeProgram) {
  constexpr std::string_view kText = R"(program edge {
    graph(%x: f32[2] user_input) {
      %y: f32[2] = edge.aten.neg.default(%x)
      return (%y user_output)
    }
  })";
  const auto retarget = [this](std::string_view op) {
    PipelineOptions options;
    options.passes = {{"retarget", [this, op](ExportedProgram& program) -> absl::StatusOr<bool> {
                         Graph& graph = program.graphs[GraphId(0)];
                         GraphEditor(graph).SetTarget(graph.NodeList()[0], ops_->FindText(op));
                         return true;
                       }}};
    return options;
  };
  ASSERT_OK(Load(kText, retarget("edge.aten.exp.default")));
  ASSERT_OK(method_->SetInput(0, F32({2}, {0, 0}).view()));
  EXPECT_THAT(Load(kText, retarget("aten.exp.default")),
              StatusIs(absl::StatusCode::kInternal,
                       AllOf(HasSubstr("passes: method 'forward': pass retarget"),
                             HasSubstr("expected an operator of the EDGE dialect"))));
}

}  // namespace
}  // namespace belay::exir
