#include "exir/passes/merge_batch_norm.h"

#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "exir/interpreter/interpreter.h"
#include "exir/ir/text.h"
#include "exir/ir/verifier.h"
#include "exir/pass_manager/pass_manager.h"
#include "exir/passes/pass_testing.h"
#include "exir/passes/propagate_constants.h"
#include "exir/testing/programs.h"
#include "exir/testing/rewrite_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/kernels/reference/reference_kernels.h"

namespace belay::exir {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kConvolution[] = R"(program edge {
  constants { state "c.weight": f32[4,3,2] state "g": f32[4] state "h": f32[4] state "m": f32[4]
              state "v": f32[4] }
  graph(%w: f32[4,3,2] parameter "c.weight", %g: f32[4] parameter "g", %h: f32[4] parameter "h",
        %m: f32[4] buffer "m", %v: f32[4] buffer "v", %x: f32[1,3,6] user_input) {
    %c: f32[1,4,5] = edge.aten.convolution.default(%x, %w, none, [1], [0], [1], false, [0], 1)
    %y: f32[1,4,5], %s: f32[0], %t: f32[0] =
        edge.aten._native_batch_norm_legit_no_training.default(%c, %g, %h, %m, %v, 0.1, 1e-5)
    %z: f32[1,4,5] = edge.aten.relu.default(%y)
    return (%z user_output)
  }
})";

TEST(MergeBatchNormTest, MergesIntoConvolution) {
  ExpectRewrite(kConvolution, MergeBatchNorm().run, R"(program edge {
  constants { constant "c.weight_merged": f32[4,3,2] constant "c.weight_merged_bias": f32[4] }
  graph(%w_merged: f32[4,3,2] tensor_constant "c.weight_merged",
        %w_merged_bias: f32[4] tensor_constant "c.weight_merged_bias", %x: f32[1,3,6] user_input) {
    %c: f32[1,4,5] = edge.aten.convolution.default(%x, %w_merged, %w_merged_bias, [1], [0], [1], false, [0], 1)
    %z: f32[1,4,5] = edge.aten.relu.default(%c)
    return (%z user_output)
  }
})",
                PassTestOps());
}

TEST(MergeBatchNormTest, MergesIntoAllPartsOfAConcatenation) {
  ExpectRewrite(R"(program edge {
  constants { state "a": f32[4,3,2] state "b": f32[2,3,2] state "h": f32[2] state "m": f32[6]
              state "v": f32[6] }
  graph(%a: f32[4,3,2] parameter "a", %b: f32[2,3,2] parameter "b", %h: f32[2] parameter "h",
        %m: f32[6] buffer "m", %v: f32[6] buffer "v", %x: f32[1,3,6] user_input) {
    %c: f32[1,4,5] = edge.aten.convolution.default(%x, %a, none, [1], [0], [1], false, [0], 1)
    %d: f32[1,2,5] = edge.aten.convolution.default(%x, %b, %h, [1], [0], [1], false, [0], 1)
    %e: f32[1,6,5] = edge.aten.cat.default([%c,%d], 1)
    %y: f32[1,6,5], %s: f32[0], %t: f32[0] =
        edge.aten._native_batch_norm_legit_no_training.default(%e, none, none, %m, %v, 0.1, 1e-5)
    return (%y user_output)
  }
})",
                MergeBatchNorm().run, R"(program edge {
  constants { constant "a_merged": f32[4,3,2] constant "a_merged_bias": f32[4]
              constant "b_merged": f32[2,3,2] constant "b_merged_bias": f32[2] }
  graph(%a_merged: f32[4,3,2] tensor_constant "a_merged",
        %a_merged_bias: f32[4] tensor_constant "a_merged_bias",
        %b_merged: f32[2,3,2] tensor_constant "b_merged",
        %b_merged_bias: f32[2] tensor_constant "b_merged_bias", %x: f32[1,3,6] user_input) {
    %c: f32[1,4,5] = edge.aten.convolution.default(%x, %a_merged, %a_merged_bias, [1], [0], [1], false, [0], 1)
    %d: f32[1,2,5] = edge.aten.convolution.default(%x, %b_merged, %b_merged_bias, [1], [0], [1], false, [0], 1)
    %e: f32[1,6,5] = edge.aten.cat.default([%c,%d], 1)
    return (%e user_output)
  }
})",
                PassTestOps());
}

TEST(MergeBatchNormTest, AddsBiasToMatmul) {
  ExpectRewrite(R"(program edge {
  constants { state "w": f32[4,3] state "m": f32[4] state "v": f32[4] }
  graph(%w: f32[4,3] parameter "w", %m: f32[4] buffer "m", %v: f32[4] buffer "v",
        %x: f32[2,3] user_input) {
    %t: f32[3,4] = edge.aten.permute_copy.default(%w, [1,0])
    %c: f32[2,4] = edge.aten.mm.default(%x, %t)
    %y: f32[2,4], %s: f32[0], %u: f32[0] =
        edge.aten._native_batch_norm_legit_no_training.default(%c, none, none, %m, %v, 0.1, 1e-5)
    return (%y user_output)
  }
})",
                MergeBatchNorm().run, R"(program edge {
  constants { constant "w_merged": f32[4,3] constant "w_merged_bias": f32[4] }
  graph(%w_merged: f32[4,3] tensor_constant "w_merged",
        %w_merged_bias: f32[4] tensor_constant "w_merged_bias", %x: f32[2,3] user_input) {
    %t: f32[3,4] = edge.aten.permute_copy.default(%w_merged, [1,0])
    %c: f32[2,4] = edge.aten.addmm.default(%w_merged_bias, %x, %t)
    return (%c user_output)
  }
})",
                PassTestOps());
}

TEST(MergeBatchNormTest, MergesIntoLinear) {
  ExpectRewrite(R"(program edge {
  constants { state "w": f32[4,3] state "m": f32[4] state "v": f32[4] }
  graph(%w: f32[4,3] parameter "w", %m: f32[4] buffer "m", %v: f32[4] buffer "v",
        %x: f32[2,3] user_input) {
    %c: f32[2,4] = edge.aten.linear.default(%x, %w)
    %y: f32[2,4], %s: f32[0], %u: f32[0] =
        edge.aten._native_batch_norm_legit_no_training.default(%c, none, none, %m, %v, 0.1, 1e-5)
    return (%y user_output)
  }
})",
                MergeBatchNorm().run, R"(program edge {
  constants { constant "w_merged": f32[4,3] constant "w_merged_bias": f32[4] }
  graph(%w_merged: f32[4,3] tensor_constant "w_merged",
        %w_merged_bias: f32[4] tensor_constant "w_merged_bias", %x: f32[2,3] user_input) {
    %c: f32[2,4] = edge.aten.linear.default(%x, %w_merged, %w_merged_bias)
    return (%c user_output)
  }
})",
                PassTestOps());
}

TEST(MergeBatchNormTest, LooksThroughReshapesThatCancelOut) {
  ExpectRewrite(R"(program edge {
  constants { state "w": f32[4,3] state "m": f32[4] state "v": f32[4] }
  graph(%w: f32[4,3] parameter "w", %m: f32[4] buffer "m", %v: f32[4] buffer "v",
        %x: f32[6,3] user_input) {
    %c: f32[6,4] = edge.aten.linear.default(%x, %w)
    %a: f32[2,3,4] = edge.aten.view_copy.default(%c, [2,3,4])
    %b: f32[6,4] = edge.aten.view_copy.default(%a, [6,4])
    %y: f32[6,4], %s: f32[0], %u: f32[0] =
        edge.aten._native_batch_norm_legit_no_training.default(%b, none, none, %m, %v, 0.1, 1e-5)
    return (%y user_output)
  }
})",
                MergeBatchNorm().run, R"(program edge {
  constants { constant "w_merged": f32[4,3] constant "w_merged_bias": f32[4] }
  graph(%w_merged: f32[4,3] tensor_constant "w_merged",
        %w_merged_bias: f32[4] tensor_constant "w_merged_bias", %x: f32[6,3] user_input) {
    %c: f32[6,4] = edge.aten.linear.default(%x, %w_merged, %w_merged_bias)
    %a: f32[2,3,4] = edge.aten.view_copy.default(%c, [2,3,4])
    %b: f32[6,4] = edge.aten.view_copy.default(%a, [6,4])
    return (%b user_output)
  }
})",
                PassTestOps());
  // A reshape with another user, and one to other channels.
  for (const char* reshapes : {R"(
    %a: f32[2,3,4] = edge.aten.view_copy.default(%c, [2,3,4])
    %b: f32[6,4] = edge.aten.view_copy.default(%a, [6,4])
    %e: f32[2,3,4] = edge.aten.relu.default(%a))",
                               R"(
    %a: f32[4,6] = edge.aten.view_copy.default(%c, [4,6])
    %p: f32[6,4] = edge.aten.permute_copy.default(%a, [1,0])
    %b: f32[6,4] = edge.aten.view_copy.default(%p, [6,4])
    %e: f32[6,4] = edge.aten.relu.default(%b))"}) {
    ExpectUnchanged(absl::StrCat(R"(program edge {
  constants { state "w": f32[4,3] state "m": f32[4] state "v": f32[4] }
  graph(%w: f32[4,3] parameter "w", %m: f32[4] buffer "m", %v: f32[4] buffer "v",
        %x: f32[6,3] user_input) {
    %c: f32[6,4] = edge.aten.linear.default(%x, %w))",
                                 reshapes, R"(
    %y: f32[6,4], %s: f32[0], %u: f32[0] =
        edge.aten._native_batch_norm_legit_no_training.default(%b, none, none, %m, %v, 0.1, 1e-5)
    return (%y user_output, %e user_output)
  }
})"),
                    MergeBatchNorm().run, PassTestOps());
  }
}

// The passes that a backend runs on the program of its Preprocess.
TEST(MergeBatchNormTest, TransposedWeightIsFolded) {
  ExportedProgram program = ParseOrDie(R"(program edge {
  constants { state "w": f32[4,3] state "b": f32[4] state "m": f32[4] state "v": f32[4] }
  graph(%w: f32[4,3] parameter "w", %b: f32[4] parameter "b", %m: f32[4] buffer "m",
        %v: f32[4] buffer "v", %x: f32[2,3] user_input) {
    %t: f32[3,4] = edge.aten.permute_copy.default(%w, [1,0])
    %c: f32[2,4] = edge.aten.addmm.default(%b, %x, %t)
    %y: f32[2,4], %s: f32[0], %u: f32[0] =
        edge.aten._native_batch_norm_legit_no_training.default(%c, none, none, %m, %v, 0.1, 1e-5)
    return (%y user_output)
  }
})",
                                       PassTestOps());
  const std::vector<Pass> passes = {MergeBatchNorm(), PropagateConstants()};
  ASSERT_OK_AND_ASSIGN(program, RunPasses(std::move(program), passes));
  EXPECT_EQ(PrintProgram(program), PrintProgram(ParseOrDie(R"(program edge {
  constants { constant "_prop_tensor_constant0": f32[3,4] constant "w_merged_bias": f32[4] }
  graph(%w_merged_bias: f32[4] tensor_constant "w_merged_bias",
        %_prop_tensor_constant0: f32[3,4] tensor_constant "_prop_tensor_constant0",
        %x: f32[2,3] user_input) {
    %c: f32[2,4] = edge.aten.addmm.default(%w_merged_bias, %x, %_prop_tensor_constant0)
    return (%c user_output)
  }
})",
                                                           PassTestOps())));
}

// ---- Numbers

// D is a dtype, B a batch norm of %c with all operands.
struct NumberCase {
  std::string_view what, weight, bias, input, result, call;
  int64_t sum;  // number of products per result
};
constexpr NumberCase kNumberCases[] = {
    {"conv1d", "D[6,3,2]", "D[6]", "D[2,3,9]", "D[2,6,8]",
     "aten.convolution.default(%x, %w, %b, [1], [0], [1], false, [0], 1)", 6},
    {"conv2d, groups, no bias", "D[6,2,3,2]", "", "D[2,4,5,5]", "D[2,6,3,4]",
     "aten.convolution.default(%x, %w, none, [1,1], [0,0], [1,1], false, [0,0], 2)", 12},
    {"conv2d, channels last", "D[6,4,3,2]{strides=[24,1,8,4]}", "D[6]",
     "D[2,4,5,5]{strides=[100,1,20,4]}", "D[2,6,3,4]{strides=[72,1,24,6]}",
     "aten.convolution.default(%x, %w, %b, [1,1], [0,0], [1,1], false, [0,0], 1)", 24},
    {"conv3d", "D[4,2,2,1,2]", "D[4]", "D[1,2,3,3,3]", "D[1,4,2,3,2]",
     "aten.convolution.default(%x, %w, %b, [1,1,1], [0,0,0], [1,1,1], false, [0,0,0], 1)", 8},
    {"transposed", "D[4,6,3]", "D[6]", "D[2,4,5]", "D[2,6,11]",
     "aten.convolution.default(%x, %w, %b, [2], [0], [1], true, [0], 1)", 12},
    {"transposed, groups", "D[4,3,2,2]", "D[6]", "D[2,4,3,3]", "D[2,6,4,4]",
     "aten.convolution.default(%x, %w, %b, [1,1], [0,0], [1,1], true, [0,0], 2)", 8},
    {"transposed, groups, channels last", "D[4,3,2,2]{strides=[12,1,6,3]}", "",
     "D[2,4,3,3]{strides=[36,1,12,4]}", "D[2,6,4,4]{strides=[96,1,24,6]}",
     "aten.convolution.default(%x, %w, none, [1,1], [0,0], [1,1], true, [0,0], 2)", 8},
    {"addmm", "D[5,6]", "D[6]", "D[3,5]", "D[3,6]", "aten.addmm.default(%b, %x, %w)", 5},
    {"mm", "D[5,6]", "", "D[3,5]", "D[3,6]", "aten.mm.default(%x, %w)", 5},
    {"mm, permuted", "D[6,5]", "", "D[3,5]", "D[3,6]", "aten.mm.default(%x, %p)", 5},
};

std::string ProgramOf(const NumberCase& c, std::string_view dtype) {
  const std::string channels(c.what == "conv3d" ? "D[4]" : "D[6]");
  const auto each = [&](std::string_view before, std::string_view kind) {
    std::string text;
    for (const char* name : {"g", "h", "m", "v"}) {
      absl::StrAppend(&text, before, kind.empty() ? "state \"" : "", kind.empty() ? name : "",
                      kind.empty() ? "\"" : "", kind.empty() ? "" : name, ": ", channels, kind,
                      kind.empty() ? "" : absl::StrCat(" \"", name, "\""));
    }
    return text;
  };
  std::string text = absl::StrCat(
      "program aten { constants { state \"w\": ", c.weight,
      c.bias.empty() ? "" : absl::StrCat(" state \"b\": ", c.bias), each(" ", ""),
      " } graph(%w: ", c.weight, " parameter \"w\"",
      c.bias.empty() ? "" : absl::StrCat(", %b: ", c.bias, " parameter \"b\""),
      each(", %", " buffer"), ", %x: ", c.input, " user_input) {",
      c.what == "mm, permuted" ? " %p: D[5,6] = aten.permute_copy.default(%w, [1,0])" : "",
      " %c: ", c.result, " = ", c.call, " %y: ", c.result,
      ", %s: D[0], %t: D[0] = aten._native_batch_norm_legit_no_training.default(%c, %g, %h, %m, "
      "%v, 0.1, 1e-3) return (%y user_output) } }");
  return absl::StrReplaceAll(text, {{"D[", absl::StrCat(dtype, "[")}});
}

// Fills in storage order with the numbers rounded to the dtype.
ConstantTensor Filled(const ConstantTensor& like, const std::vector<double>& numbers) {
  std::vector<std::byte> bytes(numbers.size() * DTypeSize(like.dtype()));
  DispatchDType<kFloatTypes>(like.dtype(), [&](auto tag) {
    using T = CppType<tag.value>;
    for (size_t i = 0; i < numbers.size(); ++i) {
      const T element = ConvertElement<T>(numbers[i]);
      std::memcpy(bytes.data() + i * sizeof(T), &element, sizeof(T));
    }
  });
  return *ConstantTensor::Create(like.dtype(), like.sizes(), like.strides(), 0,
                                 Storage::Own(std::move(bytes)));
}

std::vector<double> NumbersOf(const TensorView& view) {
  std::vector<double> numbers;
  DispatchDType<kFloatTypes>(view.dtype, [&](auto tag) {
    for (StridedIterator<1> it(view.sizes, {view.strides}); !it.done(); it.Next()) {
      numbers.push_back(ConvertElement<double>(view.as<CppType<tag.value>>()[it.offset(0)]));
    }
  });
  return numbers;
}

class NumbersTest : public ::testing::TestWithParam<NumberCase> {
 protected:
  NumbersTest() { EXPECT_OK(AddReferenceKernels(kernels_)); }

  std::vector<double> Draw(int64_t count) {
    std::uniform_real_distribution<double> magnitude(0.5, 2);
    std::bernoulli_distribution negative;
    std::vector<double> numbers;
    for (int64_t i = 0; i < count; ++i) {
      numbers.push_back(magnitude(random_) * (negative(random_) ? -1 : 1));
    }
    return numbers;
  }

  std::vector<double> Run(const ExportedProgram& program, const ConstantTensor& x) {
    absl::StatusOr<Interpreter> interpreter = Interpreter::Create(program, kernels_);
    EXPECT_OK(interpreter.status());
    if (!interpreter.ok()) return {};
    const auto results = interpreter->Run({EValue(x.view())});
    EXPECT_OK(results.status());
    return results.ok() ? NumbersOf(*results->at(0).tensor()) : std::vector<double>();
  }

  std::mt19937_64 random_{TestSeed()};
  KernelRegistry kernels_;
};

TEST_P(NumbersTest, ResultIsWithinTheBound) {
  const NumberCase& c = GetParam();
  const struct {
    const char* dtype;
    double unit, kernel;  // unit roundoffs of the dtype and of the kernels' compute dtype
  } kTypes[] = {{"f32", 0x1p-24, 0x1p-24},
                {"f64", 0x1p-53, 0x1p-53},
                {"f16", 0x1p-11, 0x1p-24},
                {"bf16", 0x1p-8, 0x1p-24}};
  for (const auto& type : kTypes) {
    SCOPED_TRACE(absl::StrCat(c.what, " ", type.dtype));
    ExportedProgram program = ParseOrDie(ProgramOf(c, type.dtype), PassTestOps());
    ExportedProgram exact = ParseOrDie(ProgramOf(c, "f64"), PassTestOps());
    const auto fill = [&](const ConstantTensor& tensor, const ConstantTensor& wide, bool positive) {
      std::vector<double> numbers = Draw(tensor.view().numel());
      for (double& number : numbers) number = positive ? std::abs(number) : number;
      ConstantTensor filled = Filled(tensor, numbers);
      const TensorView flat =
          TensorView::Contiguous(filled.dtype(), {tensor.view().numel()}, filled.view().data);
      return std::pair(filled, Filled(wide, NumbersOf(flat)));
    };
    for (auto& [name, tensor] : program.state_dict) {
      ConstantTensor& wide = exact.state_dict.at(name);
      std::tie(tensor, wide) = fill(tensor, wide, name == "v");
    }
    const auto input = [](const ExportedProgram& p) {
      const TensorMeta& meta = *p.top().value(p.top().inputs().back()).tensor();
      Sizes sizes;
      Strides strides;
      for (int d = 0; d < meta.rank(); ++d) {
        sizes.push_back(*meta.sizes[d].AsInt());
        strides.push_back(*meta.strides[d].AsInt());
      }
      return *ConstantTensor::Create(meta.dtype, sizes, strides, 0, *Storage::Zeros(1 << 12));
    };
    const auto [x, wide_x] = fill(input(program), input(exact), false);
    const std::vector<double> wanted = Run(exact, wide_x);

    ASSERT_OK_AND_ASSIGN(const bool changed, MergeBatchNorm().run(program));
    EXPECT_TRUE(changed);
    ASSERT_OK(Verify(program));
    EXPECT_THAT(PrintProgram(program), Not(HasSubstr("batch_norm")));
    const std::vector<double> got = Run(program, x);

    // Σ|weight'||x| + |bias'|: the merged exact program with absolute values.
    ASSERT_OK(MergeBatchNorm().run(exact).status());
    for (auto& [name, tensor] : exact.constants) {
      const TensorView flat =
          TensorView::Contiguous(tensor.dtype(), {tensor.view().numel()}, tensor.view().data);
      std::vector<double> numbers = NumbersOf(flat);
      for (double& number : numbers) number = std::abs(number);
      tensor = Filled(tensor, numbers);
    }
    const TensorView flat_x =
        TensorView::Contiguous(DType::kFloat64, {wide_x.view().numel()}, wide_x.view().data);
    std::vector<double> magnitudes = NumbersOf(flat_x);
    for (double& number : magnitudes) number = std::abs(number);
    const std::vector<double> sums = Run(exact, Filled(wide_x, magnitudes));

    // Each weight and bias is rounded once, the sum by the kernel, the result once.
    const double bound = 2 * type.unit + static_cast<double>(c.sum + 2) * type.kernel + 0x1p-50;
    ASSERT_EQ(got.size(), wanted.size());
    ASSERT_EQ(sums.size(), wanted.size());
    for (size_t i = 0; i < got.size(); ++i) {
      EXPECT_LE(std::abs(got[i] - wanted[i]), bound * sums[i]) << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, NumbersTest, ::testing::ValuesIn(kNumberCases));

// ---- Not merged

// Programs with one batch norm that is not merged, and the reason.
constexpr std::pair<const char*, const char*> kLeft[] = {
    {"nothing before it", R"(program aten {
  constants { state "m": f32[3] state "v": f32[3] }
  graph(%m: f32[3] buffer "m", %v: f32[3] buffer "v", %x: f32[2,3] user_input) {
    %y: f32[2,3], %s: f32[0], %t: f32[0] = aten._native_batch_norm_legit_no_training.default(%x, none, none, %m, %v, 0.1, 1e-5)
    return (%y user_output)
  }
})"},
    {"another operator before it", R"(program aten {
  constants { state "m": f32[3] state "v": f32[3] }
  graph(%m: f32[3] buffer "m", %v: f32[3] buffer "v", %x: f32[2,3] user_input) {
    %c: f32[2,3] = aten.neg.default(%x)
    %y: f32[2,3], %s: f32[0], %t: f32[0] = aten._native_batch_norm_legit_no_training.default(%c, none, none, %m, %v, 0.1, 1e-5)
    return (%y user_output)
  }
})"},
    {"its input is returned", R"(program aten {
  constants { state "w": f32[3,3] state "m": f32[3] state "v": f32[3] }
  graph(%w: f32[3,3] parameter "w", %m: f32[3] buffer "m", %v: f32[3] buffer "v", %x: f32[2,3] user_input) {
    %c: f32[2,3] = aten.mm.default(%x, %w)
    %y: f32[2,3], %s: f32[0], %t: f32[0] = aten._native_batch_norm_legit_no_training.default(%c, none, none, %m, %v, 0.1, 1e-5)
    return (%y user_output, %c user_output)
  }
})"},
    {"its input is read elsewhere", R"(program aten {
  constants { state "w": f32[3,3] state "m": f32[3] state "v": f32[3] }
  graph(%w: f32[3,3] parameter "w", %m: f32[3] buffer "m", %v: f32[3] buffer "v", %x: f32[2,3] user_input) {
    %c: f32[2,3] = aten.mm.default(%x, %w)
    %y: f32[2,3], %s: f32[0], %t: f32[0] = aten._native_batch_norm_legit_no_training.default(%c, none, none, %m, %v, 0.1, 1e-5)
    %z: f32[2,3] = aten.add.Tensor(%y, %c)
    return (%z user_output)
  }
})"},
    {"another result is returned", R"(program aten {
  constants { state "w": f32[3,3] state "m": f32[3] state "v": f32[3] }
  graph(%w: f32[3,3] parameter "w", %m: f32[3] buffer "m", %v: f32[3] buffer "v", %x: f32[2,3] user_input) {
    %c: f32[2,3] = aten.mm.default(%x, %w)
    %y: f32[2,3], %s: f32[0], %t: f32[0] = aten._native_batch_norm_legit_no_training.default(%c, none, none, %m, %v, 0.1, 1e-5)
    return (%y user_output, %s user_output)
  }
})"},
    {"the program writes to a statistic", R"(program aten {
  constants { state "w": f32[3,3] state "m": f32[3] state "v": f32[3] }
  graph(%w: f32[3,3] parameter "w", %m: f32[3] buffer "m", %v: f32[3] buffer "v", %x: f32[2,3] user_input) {
    %c: f32[2,3] = aten.mm.default(%x, %w)
    %y: f32[2,3], %s: f32[0], %t: f32[0] = aten._native_batch_norm_legit_no_training.default(%c, none, none, %m, %v, 0.1, 1e-5)
    %n: f32[3] = aten.neg.default(%m)
    return (%n buffer_mutation "m", %y user_output)
  }
})"},
    {"the weight is trained", R"(program aten {
  constants { state "w": f32[3,3] state "m": f32[3] state "v": f32[3] }
  graph(%w: f32[3,3] parameter "w", %m: f32[3] buffer "m", %v: f32[3] buffer "v", %x: f32[2,3] user_input) {
    %c: f32[2,3] = aten.mm.default(%x, %w)
    %y: f32[2,3], %s: f32[0], %t: f32[0] = aten._native_batch_norm_legit_no_training.default(%c, none, none, %m, %v, 0.1, 1e-5)
    %n: f32[3,3] = aten.neg.default(%w)
    return (%y user_output, %n gradient_to_parameter "w")
  }
})"},
    {"a statistic is an input", R"(program aten {
  constants { state "w": f32[3,3] state "v": f32[3] }
  graph(%w: f32[3,3] parameter "w", %v: f32[3] buffer "v", %x: f32[2,3] user_input, %m: f32[3] user_input) {
    %c: f32[2,3] = aten.mm.default(%x, %w)
    %y: f32[2,3], %s: f32[0], %t: f32[0] = aten._native_batch_norm_legit_no_training.default(%c, none, none, %m, %v, 0.1, 1e-5)
    return (%y user_output)
  }
})"},
    {"the weight is quantized", R"(program aten {
  constants { state "w": i8[3,3] state "m": f32[3] state "v": f32[3] }
  graph(%w: i8[3,3] parameter "w", %m: f32[3] buffer "m", %v: f32[3] buffer "v", %x: f32[2,3] user_input) {
    %d: f32[3,3] = quantized_decomposed.dequantize_per_tensor.default(%w, 0.5, 0, -128, 127, dtype:i8)
    %c: f32[2,3] = aten.mm.default(%x, %d)
    %y: f32[2,3], %s: f32[0], %t: f32[0] = aten._native_batch_norm_legit_no_training.default(%c, none, none, %m, %v, 0.1, 1e-5)
    return (%y user_output)
  }
})"},
    {"the product is scaled", R"(program aten {
  constants { state "w": f32[3,3] state "m": f32[3] state "v": f32[3] }
  graph(%w: f32[3,3] parameter "w", %m: f32[3] buffer "m", %v: f32[3] buffer "v", %x: f32[2,3] user_input) {
    %c: f32[2,3] = aten.addmm.default(%m, %x, %w, alpha=2)
    %y: f32[2,3], %s: f32[0], %t: f32[0] = aten._native_batch_norm_legit_no_training.default(%c, none, none, %m, %v, 0.1, 1e-5)
    return (%y user_output)
  }
})"},
    {"the addend is no bias", R"(program aten {
  constants { state "w": f32[3,3] state "a": f32[2,3] state "m": f32[3] state "v": f32[3] }
  graph(%w: f32[3,3] parameter "w", %a: f32[2,3] buffer "a", %m: f32[3] buffer "m", %v: f32[3] buffer "v", %x: f32[2,3] user_input) {
    %c: f32[2,3] = aten.addmm.default(%a, %x, %w)
    %y: f32[2,3], %s: f32[0], %t: f32[0] = aten._native_batch_norm_legit_no_training.default(%c, none, none, %m, %v, 0.1, 1e-5)
    return (%y user_output)
  }
})"},
    {"channels of a linear operator's sequences are no columns", R"(program aten {
  constants { state "w": f32[3,3] state "m": f32[3] state "v": f32[3] }
  graph(%w: f32[3,3] parameter "w", %m: f32[3] buffer "m", %v: f32[3] buffer "v", %x: f32[2,3,3] user_input) {
    %c: f32[2,3,3] = aten.linear.default(%x, %w)
    %y: f32[2,3,3], %s: f32[0], %t: f32[0] = aten._native_batch_norm_legit_no_training.default(%c, none, none, %m, %v, 0.1, 1e-5)
    return (%y user_output)
  }
})"},
    {"a part of the concatenation is no convolution", R"(program aten {
  constants { state "w": f32[3,3] state "m": f32[6] state "v": f32[6] }
  graph(%w: f32[3,3] parameter "w", %m: f32[6] buffer "m", %v: f32[6] buffer "v", %x: f32[2,3] user_input) {
    %c: f32[2,3] = aten.mm.default(%x, %w)
    %d: f32[2,3] = aten.relu.default(%x)
    %e: f32[2,6] = aten.cat.default([%c,%d], 1)
    %y: f32[2,6], %s: f32[0], %t: f32[0] = aten._native_batch_norm_legit_no_training.default(%e, none, none, %m, %v, 0.1, 1e-5)
    return (%y user_output)
  }
})"},
    {"two parts of the concatenation have one weight", R"(program aten {
  constants { state "w": f32[3,3] state "m": f32[6] state "v": f32[6] }
  graph(%w: f32[3,3] parameter "w", %m: f32[6] buffer "m", %v: f32[6] buffer "v", %x: f32[2,3] user_input, %z: f32[2,3] user_input) {
    %c: f32[2,3] = aten.mm.default(%x, %w)
    %d: f32[2,3] = aten.mm.default(%z, %w)
    %e: f32[2,6] = aten.cat.default([%c,%d], 1)
    %y: f32[2,6], %s: f32[0], %t: f32[0] = aten._native_batch_norm_legit_no_training.default(%e, none, none, %m, %v, 0.1, 1e-5)
    return (%y user_output)
  }
})"},
};

TEST(MergeBatchNormTest, KeepsUnmergeableBatchNorms) {
  for (const auto& [why, program] : kLeft) {
    SCOPED_TRACE(why);
    ExpectUnchanged(program, MergeBatchNorm().run, PassTestOps());
  }
}

TEST(MergeBatchNormTest, TensorsWrittenByAnotherMethodAreNotConstant) {
  for (const char* name : {"c.weight", "g", "h", "m", "v"}) {
    ExpectUnchanged(kConvolution, MergeBatchNorm({.changing = {name}}).run, PassTestOps());
  }
}

TEST(MergeBatchNormTest, RejectsValuesThatTheDtypeCannotRepresent) {
  const struct {
    const char* what;
    double weight, scale, var;
    bool merged;
    double mean = 0;
  } kCases[] = {
      {"plain", 1, 1, 1, true},
      {"zero", 0, 1, 1, true},
      {"zero scale", 1, 0, 1, true},
      {"too large", 1e30, 1e20, 1, false},
      {"subnormal", 1e-30, 1e-12, 1, false},
      {"negative variance", 1, 1, -1, false},
      {"nan", std::nan(""), 1, 1, false},
      {"infinite scale", 1, INFINITY, 1, false},
      {"a bias that is too large", 1, 1e10, 1, false, 1e30},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.what);
    ExportedProgram program = ParseOrDie(kConvolution, PassTestOps());
    for (const auto& [name, number] :
         {std::pair("c.weight", c.weight), {"g", c.scale}, {"v", c.var}, {"m", c.mean}}) {
      ConstantTensor& tensor = program.state_dict.at(name);
      tensor = Filled(tensor, std::vector<double>(tensor.view().numel(), number));
    }
    ASSERT_OK_AND_ASSIGN(const bool changed, MergeBatchNorm().run(program));
    EXPECT_EQ(changed, c.merged);
  }
}

TEST(MergeBatchNormTest, MergesKeptWeightsWithinTheBudget) {
  constexpr char kShared[] = R"(program aten {
  constants { state "w": f32[3,3] state "m": f32[3] state "v": f32[3] }
  graph(%w: f32[3,3] parameter "w", %m: f32[3] buffer "m", %v: f32[3] buffer "v", %x: f32[2,3] user_input) {
    %c: f32[2,3] = aten.mm.default(%x, %w)
    %y: f32[2,3], %s: f32[0], %t: f32[0] = aten._native_batch_norm_legit_no_training.default(%c, none, none, %m, %v, 0.1, 1e-5)
    %z: f32[2,3] = aten.mm.default(%y, %w)
    return (%z user_output)
  }
})";
  // Adds a weight and a bias, erases two statistics.
  constexpr uint64_t kGrowth = 4 * (9 + 3 - 6);
  ExpectUnchanged(kShared, MergeBatchNorm({.max_growth_bytes = kGrowth - 1}).run, PassTestOps());
  ExpectRewrite(kShared, MergeBatchNorm({.max_growth_bytes = kGrowth}).run, R"(program aten {
  constants { state "w": f32[3,3] constant "w_merged": f32[3,3] constant "w_merged_bias": f32[3] }
  graph(%w: f32[3,3] parameter "w", %w_merged: f32[3,3] tensor_constant "w_merged",
        %w_merged_bias: f32[3] tensor_constant "w_merged_bias", %x: f32[2,3] user_input) {
    %c: f32[2,3] = aten.addmm.default(%w_merged_bias, %x, %w_merged)
    %z: f32[2,3] = aten.mm.default(%c, %w)
    return (%z user_output)
  }
})",
                PassTestOps());
}

TEST(MergeBatchNormTest, MergesConsecutiveBatchNorms) {
  ExpectRewrite(R"(program aten {
  constants { state "w": f32[3,3] state "m": f32[3] state "v": f32[3] }
  graph(%w: f32[3,3] parameter "w", %m: f32[3] buffer "m", %v: f32[3] buffer "v", %x: f32[2,3] user_input) {
    %c: f32[2,3] = aten.mm.default(%x, %w)
    %y: f32[2,3], %s: f32[0], %t: f32[0] = aten._native_batch_norm_legit_no_training.default(%c, none, none, %m, %v, 0.1, 1e-5)
    %z: f32[2,3], %p: f32[0], %q: f32[0] = aten._native_batch_norm_legit_no_training.default(%y, %m, %m, %m, %v, 0.1, 1e-5)
    return (%z user_output)
  }
})",
                MergeBatchNorm({.max_growth_bytes = 100}).run, R"(program aten {
  constants { constant "w_merged_merged": f32[3,3] constant "w_merged_merged_bias": f32[3] }
  graph(%w_merged_merged: f32[3,3] tensor_constant "w_merged_merged",
        %w_merged_merged_bias: f32[3] tensor_constant "w_merged_merged_bias", %x: f32[2,3] user_input) {
    %c: f32[2,3] = aten.addmm.default(%w_merged_merged_bias, %x, %w_merged_merged)
    return (%c user_output)
  }
})",
                PassTestOps());
}

}  // namespace
}  // namespace belay::exir
