#include "exir/interpreter/interpreter.h"

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "exir/ir/lowered_backend_module.h"
#include "exir/ops/standard_ops.h"
#include "exir/testing/programs.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/kernels/reference/reference_kernels.h"

namespace belay::exir {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class InterpreterTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(ops_, CreateStandardOps());
    ASSERT_OK(AddReferenceKernels(kernels_));
  }

  const ExportedProgram& Program(std::string_view text) {
    programs_.push_back(std::make_unique<ExportedProgram>(ParseOrDie(text, *ops_)));
    return *programs_.back();
  }
  absl::StatusOr<Interpreter> Make(std::string_view text, InterpreterOptions options = {}) {
    return Interpreter::Create(Program(text), kernels_, std::move(options));
  }
  absl::StatusOr<std::vector<OwnedValue>> Run(std::string_view text, std::vector<EValue> inputs,
                                              InterpreterOptions options = {}) {
    ABSL_ASSIGN_OR_RETURN(Interpreter interpreter, Make(text, std::move(options)));
    return interpreter.Run(inputs);
  }
  static std::vector<float> Floats(const OwnedValue& datum) {
    return ToVector<float>(*datum.tensor());
  }
  static EValue F32(const TestTensor& tensor) { return EValue(tensor.view()); }

  std::unique_ptr<OpRegistry> ops_;
  KernelRegistry kernels_;
  std::vector<std::unique_ptr<ExportedProgram>> programs_;
};

// --- Operators ---

TEST_F(InterpreterTest, RunsEdgeOperatorsWithLiteralsAndConstants) {
  const TestTensor x = TestTensor::Of<float>({2}, {1, 2}), y = TestTensor::Of<float>({2}, {10, 20});
  ASSERT_OK_AND_ASSIGN(const auto results, Run(R"(program edge {
    constants { state "w": f32[2] }
    graph(%w: f32[2] parameter "w", %x: f32[2] user_input, %y: f32[2] user_input) {
      %a: f32[2] = edge.aten.add.Tensor(%x, %y, alpha=2)
      %b: f32[2] = edge.aten.add.Tensor(%a, %w)
      return (%b user_output, 7 user_output, none user_output)
    } })",
                                               {F32(x), F32(y)}));
  ASSERT_EQ(results.size(), 3);
  EXPECT_THAT(Floats(results[0]), ElementsAre(21, 42));
  EXPECT_EQ(*results[1].value().get_if<int64_t>(), 7);
  EXPECT_TRUE(results[2].is_none());
}

TEST_F(InterpreterTest, ViewsOfAtenProgramsHaveTheirOwnStrides) {
  const TestTensor x = TestTensor::Of<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  ASSERT_OK_AND_ASSIGN(const auto results, Run(R"(program aten {
    graph(%x: f32[2,3] user_input) {
      %t: f32[3,2]{strides=[1,3]} = aten.permute.default(%x, [1,0])
      %s: f32[2]{strides=[3],offset=1} = aten.select.int(%t, 0, 1)
      %d: f32[2] = aten.as_strided.default(%s, [2], [1], 2)
      return (%s user_output, %d user_output)
    } })",
                                               {F32(x)}));
  EXPECT_THAT(Floats(results[0]), ElementsAre(2, 5));
  EXPECT_THAT(Floats(results[1]), ElementsAre(3, 4));  // counted from the storage's beginning
}

class SharedCopiesTest : public InterpreterTest {
 protected:
  // Returns the results of the nodes, in order.
  std::vector<OwnedValue> RunNodes(std::string_view text, std::vector<EValue> inputs,
                                   bool share_copies = true) {
    std::vector<OwnedValue> seen;
    const auto observe = [&seen](const NodeEvent& event) {
      for (const OwnedValue* result : event.results) seen.push_back(*result);
      return absl::OkStatus();
    };
    EXPECT_OK(Run(text, std::move(inputs), {.observer = observe, .share_copies = share_copies}));
    return seen;
  }
  static const void* Data(const OwnedValue& value) { return value.tensor()->data; }
};

constexpr std::string_view kCopies = R"(program edge {
  graph(%x: f32[2,3] user_input) {
    %n: f32[2,3] = edge.aten.neg.default(%x)
    %v: f32[3,2] = edge.aten.view_copy.default(%n, [3,2])
    %u: f32[1,3,2] = edge.aten.unsqueeze_copy.default(%v, 0)
    %c: f32[1,3,2] = edge.aten.clone.default(%u)
    return (%c user_output)
  } })";

TEST_F(SharedCopiesTest, CopiesOfBytesShareMemory) {
  const TestTensor x = TestTensor::Of<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  const std::vector<OwnedValue> values = RunNodes(kCopies, {F32(x)});
  ASSERT_EQ(values.size(), 4);
  for (const OwnedValue& value : values) {
    EXPECT_EQ(Data(value), Data(values[0]));
    EXPECT_THAT(Floats(value), ElementsAre(-1, -2, -3, -4, -5, -6));
  }
  EXPECT_THAT(values[3].tensor()->sizes, ElementsAre(1, 3, 2));
}

TEST_F(SharedCopiesTest, KernelsCopyByDefault) {
  const TestTensor x = TestTensor::Of<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  const std::vector<OwnedValue> values = RunNodes(kCopies, {F32(x)}, /*share_copies=*/false);
  ASSERT_EQ(values.size(), 4);
  for (size_t i = 1; i < 4; ++i) EXPECT_NE(Data(values[i]), Data(values[i - 1]));
  EXPECT_THAT(Floats(values[3]), ElementsAre(-1, -2, -3, -4, -5, -6));
}

TEST_F(SharedCopiesTest, OtherOrdersAndDTypesAreCopied) {
  const TestTensor x = TestTensor::Of<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  const std::vector<OwnedValue> values = RunNodes(R"(program aten {
    graph(%x: f32[2,3] user_input) {
      %t: f32[3,2]{strides=[1,3]} = aten.permute.default(%x, [1,0])
      %v: f32[6] = aten.view_copy.default(%t, [6])
      %e: f32[2,2,3] = aten.expand_copy.default(%x, [2,2,3])
      %i: i32[2,3] = aten.view_copy.dtype(%x, dtype:i32)
      return (%v user_output, %e user_output, %i user_output)
    } })",
                                                  {F32(x)});
  ASSERT_EQ(values.size(), 4);
  for (size_t i = 1; i < 4; ++i) EXPECT_NE(Data(values[i]), x.view().data);
  EXPECT_THAT(Floats(values[1]), ElementsAre(1, 4, 2, 5, 3, 6));
  EXPECT_THAT(Floats(values[2]), ElementsAre(1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6));
}

TEST_F(SharedCopiesTest, ProgramsThatWriteInPlaceCopy) {
  const TestTensor x = TestTensor::Of<float>({2}, {1, 2});
  const std::vector<OwnedValue> values = RunNodes(R"(program training {
    graph(%x: f32[2] user_input) {
      %n: f32[2] = aten.neg.default(%x)
      %c: f32[2] = aten.clone.default(%n)
      %w: f32[2] = aten.copy_.default(%c, %x)
      %s: f32[2] = aten.add.Tensor(%n, %c)
      return (%s user_output)
    } })",
                                                  {F32(x)});
  ASSERT_EQ(values.size(), 4);
  EXPECT_NE(Data(values[1]), Data(values[0]));
  EXPECT_THAT(Floats(values[3]), ElementsAre(0, 0));
}

TEST_F(InterpreterTest, SeveralResultsAndLists) {
  const TestTensor x = TestTensor::Of<float>({4}, {3, 1, 4, 2});
  ASSERT_OK_AND_ASSIGN(const auto results, Run(R"(program edge {
    graph(%x: f32[4] user_input) {
      %v: f32[2], %i: i64[2] = edge.aten.topk.default(%x, 2)
      [%a: f32[1], %b: f32[3]] = edge.aten.split_with_sizes_copy.default(%x, [1,3])
      %c: f32[5] = edge.aten.cat.default([%b, %v])
      return (%c user_output, %i user_output, %a user_output)
    } })",
                                               {F32(x)}));
  EXPECT_THAT(Floats(results[0]), ElementsAre(1, 4, 2, 4, 3));
  EXPECT_THAT(ToVector<int64_t>(*results[1].tensor()), ElementsAre(2, 0));
  EXPECT_THAT(Floats(results[2]), ElementsAre(3));
}

TEST_F(InterpreterTest, OmitsUnnamedResults) {
  const TestTensor x = TestTensor::Of<float>({2, 2}, {1, 2, 4, 3});
  ASSERT_OK_AND_ASSIGN(const auto results, Run(R"(program edge {
    graph(%x: f32[2,2] user_input) {
      none, %i: i64[2] = edge.aten.max.dim(%x, 1)
      return (%i user_output)
    } })",
                                               {F32(x)}));
  EXPECT_THAT(ToVector<int64_t>(*results[0].tensor()), ElementsAre(1, 0));
}

TEST_F(InterpreterTest, SymbolicSizesAndArithmetic) {
  constexpr std::string_view kText = R"(program edge {
    ranges { s0: [2, 8] }
    graph(%x: f32[s0,2] user_input, %y: f32[2*s0] user_input, %n: symint(s0) user_input) {
      %s: symint(s0) = aten.sym_size.int(%x, 0)
      %m: symint(2*s0) = _operator.mul(%s, 2)
      %v: f32[2*s0] = edge.aten.view_copy.default(%x, [%m])
      %a: f32[2*s0] = edge.aten.add.Tensor(%v, %y)
      return (%a user_output, %m user_output)
    } })";
  const TestTensor x = TestTensor::Of<float>({2, 2}, {1, 2, 3, 4});
  const TestTensor y = TestTensor::Of<float>({4}, {10, 20, 30, 40});
  ASSERT_OK_AND_ASSIGN(const auto results, Run(kText, {F32(x), F32(y), EValue(int64_t{2})}));
  EXPECT_THAT(Floats(results[0]), ElementsAre(11, 22, 33, 44));
  EXPECT_EQ(*results[1].value().get_if<int64_t>(), 4);

  const TestTensor odd = TestTensor::Of<float>({3}, {1, 2, 3});
  EXPECT_THAT(Run(kText, {F32(x), F32(odd), EValue(int64_t{2})}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("input 'y'"), HasSubstr("= 4, got 3"))));
  const TestTensor one = TestTensor::Of<float>({1, 2}, {1, 2});
  const TestTensor two = TestTensor::Of<float>({2}, {1, 2});
  EXPECT_THAT(Run(kText, {F32(one), F32(two), EValue(int64_t{1})}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("s0 is 1, expected 2 to 8")));
  EXPECT_THAT(Run(kText, {F32(x), F32(y), EValue(int64_t{5})}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("got 5")));
}

TEST_F(InterpreterTest, DataDependentSizes) {
  const TestTensor x = TestTensor::Of<float>({4}, {0, 1, 0, 2});
  ASSERT_OK_AND_ASSIGN(const auto results, Run(R"(program edge {
    ranges { u0: [0, 4] }
    graph(%x: f32[4] user_input) {
      %i: i64[u0,1] = edge.aten.nonzero.default(%x)
      %n: symint(u0) = aten.sym_size.int(%i, 0)
      return (%i user_output, %n user_output)
    } })",
                                               {F32(x)}));
  EXPECT_THAT(ToVector<int64_t>(*results[0].tensor()), ElementsAre(1, 3));
  EXPECT_EQ(*results[1].value().get_if<int64_t>(), 2);
}

// --- Control flow ---

constexpr std::string_view kCond = R"(program edge {
    graph(%p: b8[] user_input, %x: f32[2] user_input) {
      %c: f32[2] = higher_order.cond(%p, graph#1, graph#2, [%x])
      return (%c user_output)
    }
    graph yes(%y: f32[2]) { %t: f32[2] = edge.aten.neg.default(%y) return (%t) }
    graph no(%y: f32[2]) { %f: f32[2] = edge.aten.relu.default(%y) return (%f) }
  })";

TEST_F(InterpreterTest, CondTakesOneBranch) {
  const TestTensor x = TestTensor::Of<float>({2}, {-1, 2});
  const TestTensor yes = TestTensor::Of<bool>({}, {true}), no = TestTensor::Of<bool>({}, {false});
  ASSERT_OK_AND_ASSIGN(auto results, Run(kCond, {F32(yes), F32(x)}));
  EXPECT_THAT(Floats(results[0]), ElementsAre(1, -2));
  ASSERT_OK_AND_ASSIGN(results, Run(kCond, {F32(no), F32(x)}));
  EXPECT_THAT(Floats(results[0]), ElementsAre(0, 2));
}

TEST_F(InterpreterTest, CondOnScalars) {
  constexpr std::string_view kText = R"(program edge {
    ranges { s0: [1, 8] }
    graph(%x: f32[s0] user_input) {
      %n: symint(s0) = aten.sym_size.int(%x, 0)
      %p: symbool(s0 > 2) = _operator.gt(%n, 2)
      %c: f32[s0] = higher_order.cond(%p, graph#1, graph#2, [%x])
      %d: f32[s0] = higher_order.cond(true, graph#3, graph#4, [%c])
      return (%d user_output)
    }
    graph a(%y: f32[s0]) { %t: f32[s0] = edge.aten.neg.default(%y) return (%t) }
    graph b(%y: f32[s0]) { return (%y) }
    graph c(%y: f32[s0]) { %t: f32[s0] = edge.aten.mul.Tensor(%y, %y) return (%t) }
    graph d(%y: f32[s0]) { return (%y) }
  })";
  const TestTensor two = TestTensor::Of<float>({2}, {2, 3});
  const TestTensor three = TestTensor::Of<float>({3}, {2, 3, 4});
  ASSERT_OK_AND_ASSIGN(auto results, Run(kText, {F32(two)}));
  EXPECT_THAT(Floats(results[0]), ElementsAre(4, 9));
  ASSERT_OK_AND_ASSIGN(results, Run(kText, {F32(three)}));
  EXPECT_THAT(Floats(results[0]), ElementsAre(4, 9, 16));
}

constexpr std::string_view kWhile = R"(program edge {
    graph(%i: i64[] user_input, %x: f32[2] user_input, %n: i64[] user_input, %one: i64[] user_input) {
      %j: i64[], %y: f32[2] = higher_order.while_loop(graph#1, graph#2, [%i, %x], [%n, %one])
      return (%y user_output, %j user_output)
    }
    graph test(%i: i64[], %x: f32[2], %n: i64[], %one: i64[]) {
      %p: b8[] = edge.aten.lt.Tensor(%i, %n)
      return (%p)
    }
    graph step(%i: i64[], %x: f32[2], %n: i64[], %one: i64[]) {
      %k: i64[] = edge.aten.add.Tensor(%i, %one)
      %z: f32[2] = edge.aten.add.Tensor(%x, %x)
      return (%k, %z)
    }
  })";

TEST_F(InterpreterTest, WhileLoopCarriesValues) {
  const TestTensor zero = TestTensor::Of<int64_t>({}, {0}),
                   three = TestTensor::Of<int64_t>({}, {3}), one = TestTensor::Of<int64_t>({}, {1});
  const TestTensor x = TestTensor::Of<float>({2}, {1, 5});
  ASSERT_OK_AND_ASSIGN(auto results, Run(kWhile, {F32(zero), F32(x), F32(three), F32(one)}));
  EXPECT_THAT(Floats(results[0]), ElementsAre(8, 40));
  EXPECT_THAT(ToVector<int64_t>(*results[1].tensor()), ElementsAre(3));
  // Zero iterations.
  ASSERT_OK_AND_ASSIGN(results, Run(kWhile, {F32(three), F32(x), F32(zero), F32(one)}));
  EXPECT_THAT(Floats(results[0]), ElementsAre(1, 5));
}

TEST_F(InterpreterTest, LimitsLoopIterations) {
  const TestTensor zero = TestTensor::Of<int64_t>({}, {0}), one = TestTensor::Of<int64_t>({}, {1});
  const TestTensor x = TestTensor::Of<float>({2}, {1, 5});
  // The counter does not move.
  EXPECT_THAT(Run(kWhile, {F32(zero), F32(x), F32(one), F32(zero)}, {.max_iterations = 100}),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       AllOf(HasSubstr("more than 100 iterations"), HasSubstr("while_loop"))));
}

TEST_F(InterpreterTest, MapIteratesRows) {
  constexpr std::string_view kText = R"(program edge {
    ranges { s0: [0, 8] }
    graph(%x: f32[s0,2] user_input, %y: f32[2] user_input) {
      %m: f32[s0,2], %n: f32[s0,2] = higher_order.map_impl(graph#1, [%x], [%y])
      return (%m user_output, %n user_output)
    }
    graph body(%row: f32[2], %y: f32[2]) {
      %a: f32[2] = edge.aten.add.Tensor(%row, %y)
      return (%a, %row)
    }
  })";
  const TestTensor x = TestTensor::Of<float>({2, 2}, {1, 2, 3, 4});
  const TestTensor y = TestTensor::Of<float>({2}, {10, 20});
  ASSERT_OK_AND_ASSIGN(auto results, Run(kText, {F32(x), F32(y)}));
  EXPECT_THAT(Floats(results[0]), ElementsAre(11, 22, 13, 24));
  EXPECT_THAT(Floats(results[1]), ElementsAre(1, 2, 3, 4));
  const TestTensor none = TestTensor::Of<float>({0, 2}, {});
  ASSERT_OK_AND_ASSIGN(results, Run(kText, {F32(none), F32(y)}));
  EXPECT_EQ(results[0].tensor()->sizes, Sizes({0, 2}));
}

TEST_F(InterpreterTest, ScanCarriesAndStacks) {
  const TestTensor start = TestTensor::Of<float>({2}, {1, 1});
  const TestTensor x = TestTensor::Of<float>({3, 2}, {1, 2, 3, 4, 5, 6});
  const TestTensor scale = TestTensor::Of<float>({2}, {10, 100});
  ASSERT_OK_AND_ASSIGN(const auto results, Run(R"(program edge {
    graph(%s: f32[2] user_input, %x: f32[3,2] user_input, %f: f32[2] user_input) {
      %c: f32[2], %y: f32[3,2] = higher_order.scan(graph#1, [%s], [%x], [%f])
      return (%c user_output, %y user_output)
    }
    graph body(%c: f32[2], %row: f32[2], %f: f32[2]) {
      %a: f32[2] = edge.aten.add.Tensor(%c, %row)
      %m: f32[2] = edge.aten.mul.Tensor(%a, %f)
      return (%a, %m)
    }
  })",
                                               {F32(start), F32(x), F32(scale)}));
  EXPECT_THAT(Floats(results[0]), ElementsAre(10, 13));
  EXPECT_THAT(Floats(results[1]), ElementsAre(20, 300, 50, 700, 100, 1300));
}

// A value returned twice by a branch becomes two tensors.
TEST_F(InterpreterTest, BranchesReturnNewTensors) {
  const TestTensor x = TestTensor::Of<float>({2}, {1, 2});
  const TestTensor nines = TestTensor::Of<float>({2}, {9, 9});
  for (const bool is_twice : {true, false}) {
    const TestTensor predicate = TestTensor::Of<bool>({}, {is_twice});
    ASSERT_OK_AND_ASSIGN(const auto results, Run(R"(program training {
    graph(%p: b8[] user_input, %x: f32[2] user_input, %n: f32[2] user_input) {
      %a: f32[2], %b: f32[2] = higher_order.cond(%p, graph#1, graph#2, [%x])
      %w: f32[2] = aten.copy_.default(%a, %n)
      return (%a user_output, %b user_output, %x user_output)
    }
    graph twice(%y: f32[2]) { %t: f32[2] = aten.add.Tensor(%y, %y) return (%t, %t) }
    graph same(%y: f32[2]) { return (%y, %y) }
  })",
                                                 {F32(predicate), F32(x), F32(nines)}));
    EXPECT_THAT(Floats(results[0]), ElementsAre(9, 9));
    EXPECT_EQ(Floats(results[1])[1], is_twice ? 4 : 2);
    EXPECT_THAT(Floats(results[2]), ElementsAre(1, 2));
  }
}

// A write to a scan result reaches neither the initial value nor the scanned tensor.
TEST_F(InterpreterTest, ScansReturnNewTensors) {
  const TestTensor start = TestTensor::Of<float>({2}, {1, 2});
  const TestTensor rows = TestTensor::Of<float>({2, 2}, {3, 4, 5, 6});
  const TestTensor more = TestTensor::Of<float>({2}, {7, 8});
  const TestTensor nines = TestTensor::Of<float>({2}, {9, 9});
  for (std::string_view carried : {"%c", "%row", "%f"}) {
    ASSERT_OK_AND_ASSIGN(const auto results, Run(absl::StrCat(R"(program training {
    graph(%s: f32[2] user_input, %x: f32[2,2] user_input, %m: f32[2] user_input,
          %n: f32[2] user_input) {
      %c: f32[2], %y: f32[2,2] = higher_order.scan(graph#1, [%s], [%x], [%m])
      %w: f32[2] = aten.copy_.default(%c, %n)
      return (%s user_output, %x user_output, %m user_output, %c user_output)
    }
    graph body(%c: f32[2], %row: f32[2], %f: f32[2]) { return ()",
                                                              carried, ", %row) } }"),
                                                 {F32(start), F32(rows), F32(more), F32(nines)}));
    EXPECT_THAT(Floats(results[0]), ElementsAre(1, 2)) << carried;
    EXPECT_THAT(Floats(results[1]), ElementsAre(3, 4, 5, 6)) << carried;
    EXPECT_THAT(Floats(results[2]), ElementsAre(7, 8)) << carried;
    EXPECT_THAT(Floats(results[3]), ElementsAre(9, 9)) << carried;
  }
}

TEST_F(InterpreterTest, ExecutesRegionSubgraphs) {
  const TestTensor x = TestTensor::Of<float>({2}, {-1, 2});
  ASSERT_OK_AND_ASSIGN(const auto results, Run(R"(program training {
    graph(%x: f32[2] user_input) {
      %a: f32[2] = higher_order.wrap_with_set_grad_enabled(false, graph#1, %x)
      %b: f32[2] = higher_order.wrap_with_autocast("cpu", dtype:bf16, false, true, graph#2, %a)
      return (%b user_output)
    }
    graph first(%y: f32[2]) { %t: f32[2] = aten.neg.default(%y) return (%t) }
    graph second(%y: f32[2]) { %t: f32[2] = aten.relu.default(%y) return (%t) }
  })",
                                               {F32(x)}));
  EXPECT_THAT(Floats(results[0]), ElementsAre(1, 0));
}

// --- State ---

constexpr std::string_view kCounter = R"(program edge {
    constants { state "n": f32[1] }
    graph(%n: f32[1] buffer "n", %x: f32[1] user_input) {
      %a: f32[1] = edge.aten.add.Tensor(%n, %x)
      return (%a buffer_mutation "n", %n user_output, %a user_output)
    } })";

TEST_F(InterpreterTest, BuffersPersistBetweenRuns) {
  const TestTensor x = TestTensor::Of<float>({1}, {2});
  ASSERT_OK_AND_ASSIGN(Interpreter interpreter, Make(kCounter));
  EXPECT_THAT(interpreter.StateNames(), ElementsAre("n"));
  for (int i = 0; i < 3; ++i) {
    ASSERT_OK_AND_ASSIGN(const auto results, interpreter.Run({F32(x)}));
    EXPECT_THAT(Floats(results[0]), ElementsAre(2 * i));  // the value before the call
    EXPECT_THAT(Floats(results[1]), ElementsAre(2 * i + 2));
  }
  ASSERT_OK_AND_ASSIGN(const TensorView state, interpreter.GetState("n"));
  EXPECT_THAT(ToVector<float>(state), ElementsAre(6));
  ASSERT_OK(interpreter.ResetState());
  EXPECT_THAT(ToVector<float>(state), ElementsAre(0));
  const TestTensor five = TestTensor::Of<float>({1}, {5}), two = TestTensor::Of<float>({2}, {5, 5});
  ASSERT_OK(interpreter.SetState("n", five));
  EXPECT_THAT(ToVector<float>(state), ElementsAre(5));
  EXPECT_THAT(interpreter.SetState("n", two),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("f32[1]")));
  EXPECT_THAT(interpreter.GetState("m"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("the program has: n")));
}

TEST_F(InterpreterTest, WritesMutatedInputsToCallerMemory) {
  TestTensor x = TestTensor::Of<float>({2}, {1, 2});
  const TestTensor y = TestTensor::Of<float>({2}, {10, 20});
  ASSERT_OK_AND_ASSIGN(const auto results, Run(R"(program edge {
    graph(%x: f32[2] user_input, %y: f32[2] user_input) {
      %a: f32[2] = edge.aten.add.Tensor(%x, %y)
      return (%a user_input_mutation "x", %x user_output)
    } })",
                                               {F32(x), F32(y)}));
  EXPECT_THAT(ToVector<float>(x.view()), ElementsAre(11, 22));
  EXPECT_THAT(Floats(results[0]), ElementsAre(1, 2));  // taken before it was written
}

TEST_F(InterpreterTest, InPlaceOperatorsWriteThroughViews) {
  constexpr std::string_view kText = R"(program training {
    constants { state "b": f32[2,2] }
    graph(%b: f32[2,2] buffer "b", %x: f32[2] user_input) {
      %row: f32[2] = aten.select.int(%b, 0, 1)
      %w: f32[2] = aten.copy_.default(%row, %x)
      %all: f32[2,2] = aten.add.Tensor(%b, %b)
      return (%all user_output)
    } })";
  const TestTensor x = TestTensor::Of<float>({2}, {3, 4});
  ASSERT_OK_AND_ASSIGN(Interpreter interpreter, Make(kText));
  ASSERT_OK_AND_ASSIGN(const auto results, interpreter.Run({F32(x)}));
  EXPECT_THAT(Floats(results[0]), ElementsAre(0, 0, 6, 8));
  ASSERT_OK_AND_ASSIGN(const TensorView state, interpreter.GetState("b"));
  EXPECT_THAT(ToVector<float>(state), ElementsAre(0, 0, 3, 4));
}

TEST_F(InterpreterTest, ConstantsAreNotWritten) {
  EXPECT_THAT(Run(R"(program aten {
    constants { state "w": f32[1] }
    graph(%w: f32[1] parameter "w", %x: f32[1] user_input) {
      %a: f32[1] = aten.copy_.default(%w, %x)
      return (%a user_output)
    } })",
                  {F32(TestTensor::Of<float>({1}, {1}))}),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("must not be written to")));
}

// --- Delegates ---

constexpr std::string_view kDelegate = R"(program edge {
    graph(%x: f32[1] user_input) {
      %y: f32[1] = higher_order.executorch_call_delegate(module#0, %x) name="first"
      %z: f32[1] = higher_order.executorch_call_delegate(module#1, %y) name="second"
      return (%z user_output)
    }
    module#0 backend "b" specs [] { program edge {
      constants { state "n": f32[1] }
      graph(%n: f32[1] buffer "n", %x: f32[1] user_input) {
        %sum: f32[1] = edge.aten.add.Tensor(%n, %x)
        return (%sum buffer_mutation "n", %sum user_output)
      } } }
    module#1 backend "b" specs [] { program edge {
      graph(%x: f32[1] user_input) {
        %minus: f32[1] = edge.aten.neg.default(%x)
        return (%minus user_output)
      } } }
  })";

TEST_F(InterpreterTest, DelegatesExecuteLoweredProgram) {
  ASSERT_OK_AND_ASSIGN(Interpreter interpreter, Make(kDelegate));
  const TestTensor x = TestTensor::Of<float>({1}, {2});
  for (int i = 1; i <= 3; ++i) {
    ASSERT_OK_AND_ASSIGN(const auto results, interpreter.Run({F32(x)}));
    EXPECT_THAT(Floats(results[0]), ElementsAre(-2 * i));
  }
  ASSERT_OK_AND_ASSIGN(const TensorView state, interpreter.GetState("n"));
  EXPECT_THAT(ToVector<float>(state), ElementsAre(6));
  ASSERT_OK(interpreter.ResetState());
  ASSERT_OK_AND_ASSIGN(const auto results, interpreter.Run({F32(x)}));
  EXPECT_THAT(Floats(results[0]), ElementsAre(-2));
}

TEST_F(InterpreterTest, CallsOfModuleShareState) {
  ASSERT_OK_AND_ASSIGN(Interpreter interpreter, Make(R"(program edge {
    graph(%p: b8[] user_input, %x: f32[1] user_input) {
      %y: f32[1] = higher_order.executorch_call_delegate(module#0, %x) name="first"
      %c: f32[1] = higher_order.cond(%p, graph#1, graph#2, [%y])
      return (%c user_output)
    }
    graph t(%y: f32[1]) {
      %z: f32[1] = higher_order.executorch_call_delegate(module#0, %y) name="second"
      return (%z)
    }
    graph f(%y: f32[1]) {
      %m: f32[1] = edge.aten.neg.default(%y)
      return (%m)
    }
    module#0 backend "b" specs [] { program edge {
      constants { state "n": f32[1] }
      graph(%n: f32[1] buffer "n", %x: f32[1] user_input) {
        %sum: f32[1] = edge.aten.add.Tensor(%n, %x)
        return (%sum buffer_mutation "n", %sum user_output)
      } } }
  })"));
  const TestTensor x = TestTensor::Of<float>({1}, {2}), yes = TestTensor::Of<bool>({}, {true}),
                   no = TestTensor::Of<bool>({}, {false});
  ASSERT_OK_AND_ASSIGN(auto results, interpreter.Run({F32(yes), F32(x)}));
  EXPECT_THAT(Floats(results[0]), ElementsAre(4));  // 2, then 2 + 2
  ASSERT_OK_AND_ASSIGN(results, interpreter.Run({F32(no), F32(x)}));
  EXPECT_THAT(Floats(results[0]), ElementsAre(-6));
  EXPECT_EQ(interpreter.StateNames(), std::vector<std::string>{"n"});
}

// --- Observation ---

TEST_F(InterpreterTest, ObserverSeesEveryNodeInOrder) {
  std::vector<std::string> seen;
  InterpreterOptions options;
  options.observer = [&](const NodeEvent& event) {
    std::string text;
    for (const std::string& caller : event.callers) text += caller + "/";
    text += event.program.graphs[event.graph].node(event.node).name;
    seen.push_back(text + "=" + std::to_string(*event.results[0]->tensor()->as<float>()));
    return absl::OkStatus();
  };
  const TestTensor x = TestTensor::Of<float>({1}, {2});
  ASSERT_OK(Run(kDelegate, {F32(x)}, options));
  EXPECT_THAT(seen, ElementsAre("first/sum=2.000000", "first=2.000000", "second/minus=-2.000000",
                                "second=-2.000000"));
}

TEST_F(InterpreterTest, ReusesMemoryOfDeadValues) {
  const TestTensor x = TestTensor::Of<float>({2}, {1, -2});
  std::vector<const void*> addresses;
  InterpreterOptions options;
  options.observer = [&](const NodeEvent& event) {
    addresses.push_back(event.results[0]->tensor()->data);
    return absl::OkStatus();
  };
  ASSERT_OK_AND_ASSIGN(Interpreter interpreter, Make(R"(program edge {
    graph(%x: f32[2] user_input) {
      %a: f32[2] = edge.aten.neg.default(%x)
      %b: f32[2] = edge.aten.neg.default(%a)
      %c: f32[2] = edge.aten.neg.default(%b)
      %e: f32[2] = edge.aten.empty.memory_format([2])
      return (%c user_output, %e user_output)
    } })",
                                                     options));
  ASSERT_OK_AND_ASSIGN(const auto first, interpreter.Run({F32(x)}));
  EXPECT_EQ(addresses[2], addresses[0]);  // %a is dead
  EXPECT_EQ(addresses[3], addresses[1]);  // %b is dead
  EXPECT_THAT(Floats(first[0]), ElementsAre(-1, 2));
  EXPECT_THAT(Floats(first[1]), ElementsAre(0, 0));
  // Results have memory of their own.
  const TestTensor y = TestTensor::Of<float>({2}, {5, 6});
  ASSERT_OK_AND_ASSIGN(const auto second, interpreter.Run({F32(y)}));
  EXPECT_THAT(Floats(second[0]), ElementsAre(-5, -6));
  EXPECT_THAT(Floats(first[0]), ElementsAre(-1, 2));
}

TEST_F(InterpreterTest, ObserverErrorAbortsTheRun) {
  InterpreterOptions options;
  options.observer = [](const NodeEvent&) { return absl::CancelledError("enough"); };
  ASSERT_OK_AND_ASSIGN(Interpreter interpreter, Make(kCounter, options));
  const TestTensor x = TestTensor::Of<float>({1}, {2});
  EXPECT_THAT(interpreter.Run({F32(x)}),
              StatusIs(absl::StatusCode::kCancelled, AllOf(HasSubstr("enough"), HasSubstr("%a"))));
  // Nothing was written.
  ASSERT_OK_AND_ASSIGN(const TensorView state, interpreter.GetState("n"));
  EXPECT_THAT(ToVector<float>(state), ElementsAre(0));
}

// --- Errors ---

TEST_F(InterpreterTest, ListsEverythingUnsupported) {
  EXPECT_THAT(Make(R"(program aten {
    graph(%x: f32[1] user_input) {
      %a: f32[1] = zoo.first.default(%x)
      %b: f32[1] = higher_order.associative_scan(%a)
      %c: f32[1] = higher_order.wrap_with_autocast("cpu", dtype:bf16, true, true, graph#1, %b)
      return (%c user_output)
    }
    graph g(%y: f32[1]) { %z: f32[1] = zoo.second.default(%y) return (%z) }
  })"),
              StatusIs(absl::StatusCode::kUnimplemented,
                       AllOf(HasSubstr("4 nodes"), HasSubstr("zoo.first"), HasSubstr("zoo.second"),
                             HasSubstr("associative_scan"), HasSubstr("autocast region"),
                             HasSubstr("this higher-order operator is not supported"))));
}

TEST_F(InterpreterTest, WrongInputs) {
  const TestTensor x = TestTensor::Of<float>({1}, {2}), wide = TestTensor::Of<float>({1, 1}, {2});
  const TestTensor ints = TestTensor::Of<int64_t>({1}, {2});
  EXPECT_THAT(Run(kCounter, {}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("expected 1 inputs, got 0")));
  for (const TestTensor* wrong : {&wide, &ints}) {
    EXPECT_THAT(Run(kCounter, {F32(*wrong)}),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr("input 0 'x': expected f32[1], got"))));
  }
  EXPECT_THAT(Run(kCounter, {EValue(int64_t{1})}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("got int")));
  const TestTensor two = TestTensor::Of<float>({2}, {2, 2});
  EXPECT_THAT(Run(kCounter, {F32(two)}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("expected 1, got 2")));
}

TEST_F(InterpreterTest, InputsFixedAtExport) {
  constexpr std::string_view kText = R"(program edge {
    graph(%x: f32[1] user_input, %k: const(3) constant_input) { return (%x user_output, %k user_output) } })";
  const TestTensor x = TestTensor::Of<float>({1}, {2});
  ASSERT_OK_AND_ASSIGN(auto results, Run(kText, {F32(x), EValue(int64_t{3})}));
  EXPECT_EQ(*results[1].value().get_if<int64_t>(), 3);
  ASSERT_OK_AND_ASSIGN(results, Run(kText, {F32(x), EValue()}));
  EXPECT_EQ(*results[1].value().get_if<int64_t>(), 3);
  EXPECT_THAT(Run(kText, {F32(x), EValue(int64_t{4})}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("fixed at export")));
}

TEST_F(InterpreterTest, ChecksDeclaredTypes) {
  EXPECT_THAT(Run(R"(program edge {
    graph(%x: f32[2] user_input) {
      %a: f32[3] = edge.aten.neg.default(%x)
      return (%a user_output)
    } })",
                  {F32(TestTensor::Of<float>({2}, {1, 2}))}),
              StatusIs(absl::StatusCode::kInternal,
                       AllOf(HasSubstr("'a'"), HasSubstr("f32[3]"), HasSubstr("f32[2]"))));
}

TEST_F(InterpreterTest, OperatorErrorsNameTheNode) {
  EXPECT_THAT(
      Run(R"(program edge {
    graph(%x: f32[2] user_input, %i: i64[1] user_input) {
      %a: f32[1] = edge.aten.index_select.default(%x, 0, %i) @"m.py":12
      return (%a user_output)
    } })",
          {F32(TestTensor::Of<float>({2}, {1, 2})), F32(TestTensor::Of<int64_t>({1}, {9}))}),
      StatusIs(absl::StatusCode::kOutOfRange,
               AllOf(HasSubstr("index_select"), HasSubstr("m.py:12"))));
}

TEST_F(InterpreterTest, LimitsTensorSizes) {
  EXPECT_THAT(Run(R"(program edge {
    graph(%x: f32[4] user_input) {
      %a: f32[1000,4] = edge.aten.expand_copy.default(%x, [1000,4])
      return (%a user_output)
    } })",
                  {F32(TestTensor::Of<float>({4}, {1, 2, 3, 4}))}, {.max_tensor_bytes = 1000}),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("more than 1000 bytes")));
}

}  // namespace
}  // namespace belay::exir
