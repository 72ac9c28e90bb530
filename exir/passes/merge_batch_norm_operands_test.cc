// Tests of batch norms with unusual operands, and with constants that have other users.
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "exir/interpreter/interpreter.h"
#include "exir/ir/text.h"
#include "exir/ir/verifier.h"
#include "exir/passes/merge_batch_norm.h"
#include "exir/passes/pass_testing.h"
#include "exir/testing/programs.h"
#include "exir/testing/rewrite_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/kernels/reference/reference_kernels.h"

namespace belay::exir {
namespace {

// Returns a program with `nodes` between constants and the result %y; N( stands for the batch norm.
std::string Around(std::string_view nodes, std::string_view returned = "%y user_output") {
  return absl::StrCat(
      R"(program aten {
  ranges { s0: [1, 8] }
  constants { state "w": f32[3,3] state "h": f16[3,3] state "k": i32[3,3] state "one": f32[3]
              state "t": f32[3,1,2] state "cast": f32[3,1,1000000000]{strides=[1,1,0]}
              state "m": f32[3] state "v": f32[3] state "i": i64[3] }
  graph(%w: f32[3,3] parameter "w", %h: f16[3,3] parameter "h", %k: i32[3,3] parameter "k",
        %one: f32[3] parameter "one", %t: f32[3,1,2] parameter "t",
        %cast: f32[3,1,1000000000]{strides=[1,1,0]} parameter "cast",
        %m: f32[3] buffer "m", %v: f32[3] buffer "v", %i: i64[3] buffer "i",
        %x: f32[2,3] user_input, %xk: i32[2,3] user_input, %s: f32[1,3,8] user_input, %n: symint(s0) user_input) {
)",
      absl::StrReplaceAll(
          std::string(nodes),
          {{"N(", "aten._native_batch_norm_legit_no_training.default("}, {"; ", "\n"}}),
      "\nreturn (", returned, ") } }");
}

// Expects no change, also for programs that do not verify.
void ExpectStays(std::string_view nodes, std::string_view returned = "%y user_output",
                 const OpRegistry& ops = PassTestOps()) {
  SCOPED_TRACE(nodes);
  ExportedProgram program = ParseOrDie(Around(nodes, returned), ops);
  const std::string before = PrintProgram(program);
  ASSERT_OK_AND_ASSIGN(const bool changed,
                       MergeBatchNorm({.max_growth_bytes = 1 << 20}).run(program));
  EXPECT_FALSE(changed);
  EXPECT_EQ(PrintProgram(program), before);
}

constexpr char kNorm[] =
    "; %y: f32[2,3], %s1: f32[0], %s2: f32[0] = N(%c, none, none, %m, %v, 0.1, 1e-5)";

TEST(MergeBatchNormOperandsTest, KeepsNonConstantWeights) {
  for (const char* product : {
           "%c: f32[2,3] = aten.mm.default(%x, 2.0)",
           "%p: f32[3,3] = aten.permute_copy.default(2.0, [1,0]); %c: f32[2,3] = "
           "aten.mm.default(%x, %p)",
           "%p: f32[3,3] = aten.permute_copy.default(%w, [0,1]); %c: f32[2,3] = "
           "aten.mm.default(%x, %p)",
           "%c: f32[2,3] = aten.mm.default(%x, %h)",    // of another dtype
           "%c: f32[2,3] = aten.mm.default(%x, %one)",  // of one dimension
           "%c: f32[2,3] = aten.addmm.default(%one, %x, %w, beta=2)",
           "%c: f32[2,3] = aten.addmm.default(%one, %x, %w, alpha=0.5)",
           "%c: f32[2,3] = aten.addmm.default(0.5, %x, %w)",  // an addend for all channels
       }) {
    ExpectStays(absl::StrCat(product, kNorm));
  }
  // A transposed weight with another user.
  ExpectStays(absl::StrCat("%p: f32[3,3] = aten.permute_copy.default(%w, [1,0]); "
                           "%c: f32[2,3] = aten.mm.default(%x, %p)",
                           kNorm),
              "%y user_output, %p user_output");
  // Integers.
  ExpectStays(
      "%c: i32[2,3] = aten.mm.default(%xk, %k); "
      "%y: i32[2,3], %s1: f32[0], %s2: f32[0] = N(%c, none, none, %m, %v, 0.1, 1e-5)");
}

TEST(MergeBatchNormOperandsTest, KeepsConvolutionsWithoutKnownChannels) {
  for (const char* arguments : {
           "%s, %t, none, [1], [0], [1], %b, [0], 1",        // transposed or not
           "%s, %t, none, [1], [0], [1], true, [0], %n",     // groups
           "%s, %t, none, [1], [0], [1], true, [0], 0",      //
           "%s, %t, none, [1], [0], [1], true, [0], 2",      // do not divide the rows
           "%s, %cast, none, [1], [0], [1], false, [0], 1",  // too many elements to copy
       }) {
    ExpectStays(
        absl::StrCat("%b: symbool(Eq(s0, 2)) = _operator.eq(%n, 2); "
                     "%c: f32[1,3,9] = aten.convolution.default(",
                     arguments,
                     "); %y: f32[1,3,9], %s1: f32[0], %s2: f32[0] = "
                     "N(%c, none, none, %m, %v, 0.1, 1e-5)"));
  }
}

TEST(MergeBatchNormOperandsTest, KeepsBatchNormsOfOtherOperands) {
  constexpr char kProduct[] = "%c: f32[2,3] = aten.mm.default(%x, %w); ";
  for (const char* norm : {
           "%y: f32[2,3], %s1: f32[0], %s2: f32[0] = N(2.0, none, none, %m, %v, 0.1, 1e-5)",
           "%y: f32[2,3], %s1: f32[0], %s2: f32[0] = N(%c, 2.0, none, %m, %v, 0.1, 1e-5)",
           "%y: f32[2,3], %s1: f32[0], %s2: f32[0] = N(%c, none, 2.0, %m, %v, 0.1, 1e-5)",
           "%y: f32[2,3], %s1: f32[0], %s2: f32[0] = N(%c, none, none, %i, %v, 0.1, 1e-5)",
           "%y: f32[2,3], %s1: f32[0], %s2: f32[0] = N(%c, none, none, %m, %i, 0.1, 1e-5)",
           "%y: f32[2,3], %s1: f32[0], %s2: f32[0] = N(%c, none, none, %m, %v, 0.1, %n)",
           // Results with other dtypes, sizes and strides than their operands.
           "%y: f16[2,3], %s1: f32[0], %s2: f32[0] = N(%c, none, none, %m, %v, 0.1, 1e-5)",
           "%y: f32[3,2], %s1: f32[0], %s2: f32[0] = N(%c, none, none, %m, %v, 0.1, 1e-5)",
           "%y: f32[2,3]{strides=[1,2]}, %s1: f32[0], %s2: f32[0] = N(%c, none, none, %m, %v, 0.1, "
           "1e-5)",
           // Another result has users.
           "%z: f32[2,3], %s1: f32[0], %s2: f32[0] = N(%c, none, none, %m, %v, 0.1, 1e-5); "
           "%y: f32[0] = aten.neg.default(%s1)",
       }) {
    ExpectStays(absl::StrCat(kProduct, norm));
  }
  ExpectStays(absl::StrCat(kProduct, "none, none, none = N(%c, none, none, %m, %v, 0.1, 1e-5)"),
              "%x user_output");
}

// A batch norm that is kept does not prevent merging of another.
TEST(MergeBatchNormOperandsTest, ChecksEachBatchNormSeparately) {
  ExportedProgram program = ParseOrDie(
      Around("%c: f32[2,3] = aten.mm.default(%x, %w)" + std::string(kNorm) +
                 "; %z: f32[2,3], %u1: f32[0], %u2: f32[0] = N(%x, none, none, %m, %v, 0.1, 1e-5)",
             "%y user_output, %z user_output"),
      PassTestOps());
  // The other batch norm keeps the statistics.
  ASSERT_OK_AND_ASSIGN(const bool changed, MergeBatchNorm({.max_growth_bytes = 12}).run(program));
  EXPECT_TRUE(changed);
  ASSERT_OK(Verify(program));
  std::string ops;
  for (const NodeId id : program.top().nodes()) {
    absl::StrAppend(&ops, " ", program.top().node(id).target->op());
  }
  EXPECT_EQ(ops, " addmm _native_batch_norm_legit_no_training");
}

// Unused constants are erased; returned ones are kept and not counted as freed.
TEST(MergeBatchNormOperandsTest, KeepsReturnedWeight) {
  constexpr char kReturned[] = R"(program aten {
  constants { state "w": f32[3,3] state "m": f32[3] state "v": f32[3] }
  graph(%w: f32[3,3] parameter "w", %m: f32[3] buffer "m", %v: f32[3] buffer "v", %x: f32[2,3] user_input) {
    %c: f32[2,3] = aten.addmm.default(%m, %x, %w, beta=1.0, alpha=1.0)
    %y: f32[2,3], %s: f32[0], %t: f32[0] = aten._native_batch_norm_legit_no_training.default(%c, none, none, %m, %v, 0.1, 1e-5)
    return (%y user_output, %w user_output)
  }
})";
  // Adds a weight and a bias, erases two statistics.
  constexpr uint64_t kGrowth = 4 * (9 + 3 - 6);
  ExpectUnchanged(kReturned, MergeBatchNorm({.max_growth_bytes = kGrowth - 1}).run, PassTestOps());
  ExpectRewrite(kReturned, MergeBatchNorm({.max_growth_bytes = kGrowth}).run, R"(program aten {
  constants { state "w": f32[3,3] constant "w_merged": f32[3,3] constant "w_merged_bias": f32[3] }
  graph(%w: f32[3,3] parameter "w", %w_merged: f32[3,3] tensor_constant "w_merged",
        %w_merged_bias: f32[3] tensor_constant "w_merged_bias", %x: f32[2,3] user_input) {
    %c: f32[2,3] = aten.addmm.default(%w_merged_bias, %x, %w_merged, beta=1.0, alpha=1.0)
    return (%c user_output, %w user_output)
  }
})",
                PassTestOps());
}

ConstantTensor Numbers(DType dtype, Sizes sizes, Strides strides,
                       const std::vector<double>& numbers) {
  std::vector<std::byte> bytes(numbers.size() * DTypeSize(dtype));
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (dtype == DType::kFloat64) {
      std::memcpy(bytes.data() + i * sizeof(double), &numbers[i], sizeof(double));
    } else {
      const float number = static_cast<float>(numbers[i]);
      std::memcpy(bytes.data() + i * sizeof(float), &number, sizeof(float));
    }
  }
  return *ConstantTensor::Create(dtype, std::move(sizes), std::move(strides), 0,
                                 Storage::Own(std::move(bytes)));
}

// A weight multiplied by itself: only its use as weight is replaced.
TEST(MergeBatchNormOperandsTest, KeepsWeightMultipliedWithItself) {
  constexpr std::string_view kSquares[] = {
      "%c: f32[2,2] = aten.mm.default(%w, %w)",
      "%c: f32[2,2] = aten.addmm.default(%m, %w, %w)",
      "%p: f32[2,2] = aten.permute_copy.default(%w, [1,0])\n%c: f32[2,2] = aten.mm.default(%w, %p)",
  };
  for (const std::string_view square : kSquares) {
    SCOPED_TRACE(square);
    ExportedProgram program = ParseOrDie(absl::StrCat(R"(program aten {
  constants { state "w": f32[2,2] state "m": f32[2] state "v": f32[2] }
  graph(%w: f32[2,2] parameter "w", %m: f32[2] buffer "m", %v: f32[2] buffer "v") {
)",
                                                      square, R"(
    %y: f32[2,2], %s: f32[0], %t: f32[0] = aten._native_batch_norm_legit_no_training.default(%c, none, none, %m, %v, 0.1, 0.0)
    return (%y user_output)
  }
})"),
                                         PassTestOps());
    program.state_dict.insert_or_assign("w",
                                        Numbers(DType::kFloat32, {2, 2}, {2, 1}, {1, 2, 3, 4}));
    program.state_dict.insert_or_assign("m", Numbers(DType::kFloat32, {2}, {1}, {2, 4}));
    program.state_dict.insert_or_assign("v", Numbers(DType::kFloat32, {2}, {1}, {0.25, 4}));
    KernelRegistry kernels;
    ASSERT_OK(AddReferenceKernels(kernels));
    const auto run = [&]() -> std::vector<float> {
      absl::StatusOr<Interpreter> interpreter = Interpreter::Create(program, kernels);
      EXPECT_OK(interpreter.status());
      if (!interpreter.ok()) return {};
      const auto results = interpreter->Run({});
      EXPECT_OK(results.status());
      if (!results.ok()) return {};
      const TensorView view = *results->at(0).tensor();
      return {view.as<float>(), view.as<float>() + view.numel()};
    };
    const std::vector<float> before = run();
    // The original is kept next to the new weight and bias; the erased statistics are smaller than
    // those.
    ASSERT_OK_AND_ASSIGN(const bool shrinks, MergeBatchNorm({.max_growth_bytes = 7}).run(program));
    EXPECT_FALSE(shrinks);
    ASSERT_OK_AND_ASSIGN(const bool changed, MergeBatchNorm({.max_growth_bytes = 8}).run(program));
    EXPECT_TRUE(changed);
    ASSERT_OK(Verify(program));
    EXPECT_TRUE(program.state_dict.contains("w"));
    EXPECT_EQ(run(), before);  // powers of 2: no rounding
  }
}

// Each is finite, but their sum of magnitudes, which bounds the error, is not.
TEST(MergeBatchNormOperandsTest, KeepsWeightsWithUnboundedError) {
  const double most = std::numeric_limits<double>::max();
  for (const auto& [number, merged] : {std::pair(most / 4, true), {most, false}}) {
    SCOPED_TRACE(number);
    ExportedProgram program = ParseOrDie(R"(program aten {
  constants { state "w": f64[3,2] }
  graph(%w: f64[3,2] parameter "w", %x: f64[2,3] user_input) {
    %c: f64[2,2] = aten.mm.default(%x, %w)
    %y: f64[2,2], %s: f64[0], %t: f64[0] = aten._native_batch_norm_legit_no_training.default(%c, none, none, none, none, 0.1, 0.0)
    return (%y user_output)
  }
})",
                                         PassTestOps());
    program.state_dict.insert_or_assign(
        "w", Numbers(DType::kFloat64, {3, 2}, {2, 1}, std::vector<double>(6, number)));
    ASSERT_OK_AND_ASSIGN(const bool changed,
                         MergeBatchNorm({.max_growth_bytes = 1 << 10}).run(program));
    EXPECT_EQ(changed, merged);
  }
}

// A weight that is neither row-major nor channels last becomes row-major.
TEST(MergeBatchNormOperandsTest, WeightsInOtherOrdersBecomeContiguous) {
  ExportedProgram program = ParseOrDie(R"(program aten {
  constants { state "w": f32[2,1,2]{strides=[1,4,2]} state "v": f32[2] }
  graph(%w: f32[2,1,2]{strides=[1,4,2]} parameter "w", %v: f32[2] buffer "v", %x: f32[1,1,4] user_input) {
    %c: f32[1,2,3] = aten.convolution.default(%x, %w, none, [1], [0], [1], false, [0], 1)
    %y: f32[1,2,3], %s: f32[0], %t: f32[0] = aten._native_batch_norm_legit_no_training.default(%c, none, none, none, %v, 0.1, 0.0)
    return (%y user_output)
  }
})",
                                       PassTestOps());
  program.state_dict.insert_or_assign("w",
                                      Numbers(DType::kFloat32, {2, 1, 2}, {1, 4, 2}, {1, 2, 3, 4}));
  program.state_dict.insert_or_assign("v", Numbers(DType::kFloat32, {2}, {1}, {0.25, 1}));
  ASSERT_OK_AND_ASSIGN(const bool changed,
                       MergeBatchNorm({.max_growth_bytes = 1 << 10}).run(program));
  EXPECT_TRUE(changed);
  ASSERT_OK(Verify(program));
  const ConstantTensor& merged = program.constants.at("w_merged");
  EXPECT_TRUE(merged.is_contiguous());
  const float* numbers = merged.view().as<float>();
  EXPECT_EQ(std::vector<float>(numbers, numbers + 4), std::vector<float>({2, 6, 2, 4}));
}

TEST(MergeBatchNormOperandsTest, DoesNothingWithoutBiasOperator) {
  constexpr OpDef kRows[] = {
      {.schema = "aten::mm(Tensor self, Tensor mat2) -> Tensor"},
      {.schema = "aten::_native_batch_norm_legit_no_training(Tensor input, Tensor? weight, Tensor? "
                 "bias, Tensor running_mean, Tensor running_var, float momentum, float eps) -> "
                 "(Tensor, Tensor, Tensor)"},
  };
  const absl::Span<const OpDef> tables[] = {kRows};
  ASSERT_OK_AND_ASSIGN(const auto ops, OpRegistry::Create(tables));
  ExpectStays("%c: f32[2,3] = aten.mm.default(%x, %w)" + std::string(kNorm), "%y user_output",
              *ops);
}

}  // namespace
}  // namespace belay::exir
