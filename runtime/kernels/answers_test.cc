// Runs the calls of answers.txt on both engines and compares with the stated results.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/core/budget.h"
#include "runtime/core/str_cat.h"
#include "runtime/core/testing.h"
#include "runtime/core/thread_pool.h"
#include "runtime/kernels/call_corpus_testing.h"
#include "runtime/kernels/call_testing.h"

namespace belay {
namespace {

using ::testing::HasSubstr;

TEST_F(CallCorpus, MatchesExpectedResults) {
  for (const std::string& line : LinesOf("runtime/kernels/answers.txt")) {
    const size_t result = line.find(" =>"), error = line.find(" !! ");
    const TextCall call =
        TextCall::Parse(std::string_view(line).substr(0, std::min(result, error)));
    for (const KernelRegistry* kernels : {reference_, standard_}) {
      const CallOutcome outcome = RunCall(*kernels, call);
      SCOPED_TRACE(absl::StrCat(outcome.kernel, ": ", call.ToString()));
      if (result == error) {
        EXPECT_OK(outcome.status);
        const std::string other = RunCall(*reference_, call).ToString();
        EXPECT_TRUE(AreAlike(outcome.ToString(), other)) << outcome.ToString() << "\n" << other;
      } else if (error != std::string::npos) {
        const std::string wanted = line.substr(error + 4);
        const size_t colon = wanted.find(": ");
        EXPECT_THAT(outcome.ToString(), ::testing::StartsWith(wanted.substr(0, colon + 2)));
        EXPECT_THAT(outcome.ToString(), HasSubstr(wanted.substr(colon + 2)));
      } else {
        EXPECT_EQ(outcome.ToString(), line.size() > result + 4 ? line.substr(result + 4) : "");
      }
    }
  }
}

// Large tensors are divided among threads; bits and errors must not change.
TEST_F(CallCorpus, ThreadsDoNotChangeResults) {
  ThreadPool threads(3);
  for (const char* text :
       {"aten._to_copy.default f32[3,100000] float16 none none none false none -> f16",
        "aten._to_copy.default f32[3,100000]:t float64 none none none false none -> f64",
        "aten.clone.default f32[1,1,1] none -> f32",
        "aten.clone.default f32[100000,2] none -> f32:t",
        "aten._to_copy.default f32[3,100000] complex32 none none none false none -> c32",
        "aten.mul.Tensor f32[300000] f32[300000] -> f32",
        "aten.exp.default f32[300000]=1,2,3 -> f32",
        "aten.lt.Tensor f32[300000] f32[300000]=5 -> b8",
        "aten.add.Tensor f32[300000] f32[1] 1 -> f32", "aten.relu.default f32[1000,200]:t -> f32:t",
        // The first index out of range, 9, in the order of the positions.
        "aten.index.Tensor f32[5,300] [i64[500]=0,1,2,3,4,9,8] -> f32",
        "aten.embedding.default f32[5,300] i64[500]=0,1,2,3,4,9,8 -1 false false -> f32",
        "aten.index_put.default f32[5,300] [i64[500]=0,1,2,3,4,9,8] f32[500,300] true -> f32",
        "aten.scatter_add.default f32[300,5] 1 i64[300,500]=0,1,2,3,4,9,8 f32[300,500] -> f32",
        "aten.scatter_add.default f32[5,300] 0 i64[500,300]=0,1,2,3,4,9,8 f32[500,300] -> f32"}) {
    const TextCall call = TextCall::Parse(text);
    EXPECT_EQ(RunCall(*standard_, call, {.threads = &threads}).ToString(),
              RunCall(*standard_, call).ToString())
        << text;
  }
}

// Allowed error of n draws, which fails once in a million times:
//   mean      5 sqrt(rate / n)
//   variance  5 sqrt((2 rate + 1) rate / n)
TEST_F(CallCorpus, PoissonMeanAndVarianceMatchTheRate) {
  constexpr int kDraws = 20000;
  for (const double rate : {0.5, 3.0, 9.9, 10.0, 50.0, 1000.0}) {
    const CallOutcome outcome = RunCall(
        *reference_, TextCall::Parse(absl::StrCat("seeded.poisson.default i64[2]=5,7 0 f64[",
                                                  kDraws, "]=", rate, " none -> f64")));
    ASSERT_OK(outcome.status);
    const std::vector<double> counts = ToVector<double>(*outcome.outputs[0].get_if<TensorView>());
    double mean = 0, variance = 0;
    for (const double count : counts) mean += count / kDraws;
    for (const double count : counts) variance += (count - mean) * (count - mean) / kDraws;
    EXPECT_NEAR(mean, rate, 5 * std::sqrt(rate / kDraws)) << rate;
    EXPECT_NEAR(variance, rate, 5 * std::sqrt((2 * rate + 1) * rate / kDraws)) << rate;
  }
}

// Sizes whose positions do not fit 64 bits, or 32 bits in kernels that use these. The tensors have
// stride 0.
TEST_F(CallCorpus, RejectsPositionOverflow) {
  const char* strided =
      "aten.convolution.default f32[1,1,1,4294967296]:r f32[1,1,1,1] none [1,2147483647] [0,0] "
      "[1,1] false [0,0] 1 -> f32";
  EXPECT_EQ(RunCall(*standard_, TextCall::Parse(strided), {.no_scratch = true}).ToString(),
            "INVALID_ARGUMENT: convolution: stride, padding or dilation is too large");
  const char* wide =
      "aten.upsample_bilinear2d.default f32[1,1,1,2147483648]:r [1,1] false none none "
      "-> f32";
  EXPECT_EQ(RunCall(*standard_, TextCall::Parse(wide), {.no_scratch = true}).ToString(),
            "INVALID_ARGUMENT: upsample: the image is too wide");
}

// Long loops poll the cancellation flag.
TEST_F(CallCorpus, LongCallsCanBeCancelled) {
  const std::atomic<bool> cancel = true;
  for (
      const char* text : {
          "aten.mm.default f32[64,64] f32[64,64] -> f32",
          "aten.mm.default f64[64,64] f64[64,64] -> f64",
          "aten.mm.default i32[64,64] i32[64,64] -> i32",
          "aten._trilinear.default f64[64,64,64] f64[64,64,64] f64[64,64,64] [] [] [] [2] 0 -> f64",
          "aten.convolution.default f32[1,16,32,32] f32[16,16,3,3] none [1,1] [1,1] [1,1] false "
          "[0,0] 1 -> f32",
          "aten.convolution.default f32[1,16,32,32] f32[16,1,3,3] none [1,1] [1,1] [1,1] false "
          "[0,0] 16 -> f32",
          "aten.convolution.default f32[1,2,64,64] f32[2,1,9,9] none [1,1] [4,4] [1,1] false "
          "[0,0] 2 -> f32",
          "aten.convolution.default f32[1,16,32,32] f32[16,16,3,3] none [1,1] [1,1] [1,1] true "
          "[0,0] 1 -> f32",
          "aten.convolution_backward.default f32[1,8,32,32] f32[1,8,32,32] f32[8,8,3,3] none [1,1] "
          "[1,1] [1,1] false [0,0] 1 [true,true,true] -> f32 f32 f32",
          "torchvision.nms.default f32[700,4] f32[700] 0.9999 "
          "-> i64",
          "torchvision.roi_align.default f32[1,1,64,64] f32[1,5]=0,0,0,63,63 1 64 64 8 true -> f32",
          "aten._cdist_forward.default f64[64,300] f64[64,300] 2 none -> f64",
          "aten._pdist_forward.default f64[64,300] 2 -> f64",
          "aten.rand.default [20000] float32 none none none -> f32",
          "aten.native_dropout.default f32[20000] 0.5 true -> f32 b8",
          "aten.poisson.default f32[20000] none -> f32",
          "aten.avg_pool2d.default f32[1,4,64,64] [9,9] [1,1] [4,4] false true none -> f32",
          "aten.avg_pool2d.default f64[1,4,64,64] [9,9] [1,1] [4,4] false true none -> f64",
          "aten.max_pool2d_with_indices.default f32[1,4,64,64] [9,9] [1,1] [4,4] [1,1] false -> "
          "f32 "
          "i64",
          "aten.adaptive_max_pool2d.default f32[4,64,64] [200,200] -> f32 i64",
          "aten.avg_pool2d_backward.default f32[1,4,64,64] f32[1,4,64,64] [9,9] [1,1] [4,4] false "
          "true none -> f32",
          "aten._linalg_det.default f64[128,128] -> f64 f64 i32",
          "aten._linalg_eigh.default f64[128,128] 'L' true -> f64 f64",
          "aten._linalg_svd.default f64[128,128] false true none -> f64 f64 f64",
          "aten.linalg_cholesky_ex.default f64[128,128] false false -> f64 i32",
          "aten.linalg_inv_ex.default f64[128,128] false -> f64 i32",
          "aten.linalg_lu_factor_ex.default f64[128,128] true false -> f64 i32 i32",
          "aten.linalg_lu_solve.default f64[128,128] i32[128] f64[128,128] true false -> f64",
          "aten.linalg_matrix_exp.default f64[128,128] -> f64",
          "aten.linalg_qr.default f64[128,128] 'reduced' -> f64 f64",
          "aten.linalg_solve_triangular.default f64[128,128] f64[128,128] true true false -> f64",
      }) {
    for (const KernelRegistry* kernels : {reference_, standard_}) {
      Budget budget;
      budget.cancel = &cancel;
      const Budget::Scope scope(&budget);
      const CallOutcome outcome = RunCall(*kernels, TextCall::Parse(text));
      EXPECT_OK(outcome.status);
      EXPECT_TRUE(budget.cut_short()) << outcome.kernel << ": " << text;
    }
  }
}

}  // namespace
}  // namespace belay
