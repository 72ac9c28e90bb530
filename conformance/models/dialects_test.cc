// Compares models saved in two dialects on unrecorded inputs: the program after PyTorch's
// run_decompositions, and Belay's conversion of the traced program.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "conformance/models/manifest.h"
#include "exir/compare/call.h"
#include "exir/compare/compare.h"
#include "exir/ops/standard_ops.h"
#include "exir/pipeline.h"
#include "gtest/gtest.h"
#include "runtime/core/npy.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/testing.h"
#include "runtime/executor/method.h"
#include "runtime/io/npy_values.h"
#include "runtime/kernels/standard_kernels.h"

namespace belay::conformance {
namespace {

namespace fs = std::filesystem;

// Models that are not compared, with the reason.
struct Exception {
  std::string_view model, reason;
};
constexpr Exception kExceptions[] = {
    {"custom_operator", "the operator zoo::scaled_swish belongs to no library"},
};

struct Loaded {
  std::unique_ptr<Program> program;
  std::unique_ptr<Method> method;
};

class DialectsTest : public ::testing::Test {
 protected:
  DialectsTest() {
    EXPECT_OK(AddStandardKernels(kernels_));
    auto ops = exir::CreateStandardOps();
    EXPECT_OK(ops.status());
    ops_ = *std::move(ops);
  }

  // Folders of the models that have all these archives.
  static std::vector<fs::path> Folders(std::vector<std::string_view> archives) {
    std::vector<fs::path> folders;
    for (const char* zoo : {"conformance/models/zoo", "conformance/models/more"}) {
      if (!fs::exists(zoo)) continue;
      for (const auto& entry : fs::directory_iterator(zoo)) {
        const auto has = [&](std::string_view archive) {
          return fs::exists(entry.path() / archive);
        };
        if (std::all_of(archives.begin(), archives.end(), has)) folders.push_back(entry.path());
      }
    }
    std::sort(folders.begin(), folders.end());
    return folders;
  }

  absl::StatusOr<Loaded> Load(const fs::path& archive, exir::PipelineOptions options = {}) {
    options.unbounded_size = 64;
    ABSL_ASSIGN_OR_RETURN(const exir::ProgramImage image,
                          exir::LowerFiles({{"forward", archive.string()}}, *ops_, options));
    Loaded loaded;
    ABSL_ASSIGN_OR_RETURN(Program program, exir::OpenImage(image));
    loaded.program = std::make_unique<Program>(std::move(program));
    ABSL_ASSIGN_OR_RETURN(Method method,
                          Method::Load(*loaded.program, "forward", kernels_, backends_));
    loaded.method = std::make_unique<Method>(std::move(method));
    return loaded;
  }

  // Returns the recorded inputs of a case with perturbed floating-point numbers. Other values stay,
  // since they may be indices, lengths or masks.
  static absl::StatusOr<std::vector<NpyArray>> Inputs(const fs::path& folder, const ModelCase& c,
                                                      uint32_t seed) {
    std::mt19937_64 random(TestSeed() + seed);
    const auto moved = [&](double x) {
      return x * 0.75 + (static_cast<double>(random() % 2001) / 1000 - 1) * 0.5;
    };
    std::vector<NpyArray> arrays(c.inputs.size());
    for (size_t i = 0; i < arrays.size(); ++i) {
      if (c.inputs[i].file.empty()) continue;
      ABSL_ASSIGN_OR_RETURN(arrays[i],
                            ReadNpyFile((folder / "case_0" / c.inputs[i].file).string()));
      if (c.inputs[i].kind != "tensor") continue;
      const TensorView view = arrays[i].view();
      for (int64_t k = 0; k < view.numel(); ++k) {
        if (view.dtype == DType::kFloat32) {
          view.as<float>()[k] = static_cast<float>(moved(view.as<float>()[k]));
        } else if (view.dtype == DType::kFloat64) {
          view.as<double>()[k] = moved(view.as<double>()[k]);
        }
      }
    }
    return arrays;
  }

  static absl::Status Run(Method& method, const std::vector<NpyArray>& arrays) {
    const MethodPlan& plan = method.plan();
    for (size_t i = 0; i < plan.inputs.size(); ++i) {
      EValue value = ConstantInput(plan, i);
      if (InputTakesArray(plan, i)) {
        ABSL_ASSIGN_OR_RETURN(value, InputFromNpy(plan, i, arrays[i]));
      }
      ABSL_RETURN_IF_ERROR(method.SetInput(i, value));
    }
    return method.Execute();
  }

  static void ExpectSame(const EValue& a, const EValue& b, const Manifest& manifest,
                         std::string_view what) {
    const exir::Closeness of_numbers = {.atol = 1e-6};
    const exir::Closeness of_tensors = {.atol = std::max(manifest.atol, 1e-5),
                                        .rtol = std::max(manifest.rtol, 1e-4)};
    EXPECT_OK(exir::CompareValues(a, b, a.is_tensor() ? of_tensors : of_numbers)) << what;
  }

  std::unique_ptr<exir::OpRegistry> ops_;
  KernelRegistry kernels_;
  BackendRegistry backends_;
};

TEST_F(DialectsTest, DialectsAgree) {
  int compared = 0;
  for (const fs::path& folder : Folders({"model.pt2", "training.pt2"})) {
    SCOPED_TRACE(folder.string());
    const std::string name = folder.filename().string();
    const bool excepted = std::any_of(std::begin(kExceptions), std::end(kExceptions),
                                      [&](const Exception& e) { return e.model == name; });
    ASSERT_OK_AND_ASSIGN(const Manifest manifest,
                         ReadManifest((folder / "manifest.json").string()));
    auto aten = Load(folder / "model.pt2"), training = Load(folder / "training.pt2");
    if (excepted) {
      EXPECT_FALSE(aten.ok() && training.ok()) << name << " lowers now; remove the exception";
      continue;
    }
    ASSERT_OK(aten.status());
    ASSERT_OK(training.status());
    ASSERT_EQ(aten->method->num_outputs(), training->method->num_outputs());
    // State persists from call to call.
    for (uint32_t seed = 1; seed <= 3; ++seed) {
      ASSERT_OK_AND_ASSIGN(const auto first, Inputs(folder, manifest.cases[0], seed));
      ASSERT_OK_AND_ASSIGN(const auto second, Inputs(folder, manifest.cases[0], seed));
      const absl::Status a = Run(*aten->method, first), b = Run(*training->method, second);
      ASSERT_EQ(a.code(), b.code()) << a << " / " << b;
      if (!a.ok()) continue;  // an assertion of the program failed
      ++compared;
      for (size_t k = 0; k < aten->method->num_outputs(); ++k) {
        ExpectSame(aten->method->GetOutput(k), training->method->GetOutput(k), manifest,
                   absl::StrCat("call ", seed, " output ", k));
      }
      for (size_t i = 0; i < first.size(); ++i) {
        if (manifest.cases[0].inputs[i].kind != "tensor") continue;
        ExpectSame(EValue(first[i].view()), EValue(second[i].view()), manifest,
                   absl::StrCat("call ", seed, " input ", i, " after it"));
      }
    }
  }
  EXPECT_GT(compared, 60);
}

// Quantized values may differ by one step.
TEST_F(DialectsTest, QuantFusionAndFoldingKeepResults) {
  int compared = 0, smaller = 0;
  for (const fs::path& folder : Folders({"model.pt2"})) {
    SCOPED_TRACE(folder.string());
    ASSERT_OK_AND_ASSIGN(const Manifest manifest,
                         ReadManifest((folder / "manifest.json").string()));
    auto plain = Load(folder / "model.pt2", {.fold_constants = false});
    auto optimized = Load(folder / "model.pt2", {.quant_fusion_and_const_prop = true});
    ASSERT_EQ(plain.status().code(), optimized.status().code())
        << plain.status() << " / " << optimized.status();
    if (!plain.ok()) continue;
    const auto calls = [](const Loaded& l) { return l.method->plan().instructions.size(); };
    EXPECT_LE(calls(*optimized), calls(*plain));
    smaller += calls(*optimized) < calls(*plain) ? 1 : 0;
    for (uint32_t seed = 1; seed <= 2; ++seed) {
      ASSERT_OK_AND_ASSIGN(const auto first, Inputs(folder, manifest.cases[0], seed));
      ASSERT_OK_AND_ASSIGN(const auto second, Inputs(folder, manifest.cases[0], seed));
      const absl::Status a = Run(*plain->method, first), b = Run(*optimized->method, second);
      ASSERT_EQ(a.code(), b.code()) << a << " / " << b;
      if (!a.ok()) continue;
      ++compared;
      for (size_t k = 0; k < plain->method->num_outputs(); ++k) {
        ExpectSame(plain->method->GetOutput(k), optimized->method->GetOutput(k), manifest,
                   absl::StrCat("call ", seed, " output ", k));
      }
    }
  }
  EXPECT_GT(compared, 100);
  EXPECT_GE(smaller, 30);
}

}  // namespace
}  // namespace belay::conformance
