// Executes every model with dynamic sizes at its smallest, middle and largest sizes, on one loaded
// method whose sizes grow and shrink. The runtime's results must equal the interpreter's. A size
// out of bounds is rejected with dimension, bound and value.
#include <algorithm>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "exir/compare/call.h"
#include "exir/import/import.h"
#include "exir/interpreter/interpreter.h"
#include "exir/ops/standard_ops.h"
#include "exir/passes/propagate_constants.h"
#include "exir/pipeline.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/executor/method.h"
#include "runtime/io/npy_values.h"
#include "runtime/kernels/reference/reference_kernels.h"

namespace belay::conformance {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

struct Range {
  int64_t min = 0, max = INT64_MAX;
};

int64_t DivideUp(int64_t a, int64_t b) { return a <= 0 ? 0 : (a + b - 1) / b; }

// A loaded dynamic model and its interpreter.
struct Model {
  std::unique_ptr<exir::ExportedProgram> edge;
  std::unique_ptr<Program> program;
  std::unique_ptr<Method> method;
  std::unique_ptr<exir::Interpreter> interpreter;
  std::map<std::string, Range> symbols;  // "": sizes that no symbol names
};

class DynamicSizesTest : public ::testing::Test {
 protected:
  DynamicSizesTest() {
    EXPECT_OK(AddReferenceKernels(kernels_));
    auto ops = exir::CreateStandardOps();
    EXPECT_OK(ops.status());
    ops_ = *std::move(ops);
  }

  static std::vector<std::string> Archives() {
    std::vector<std::string> paths;
    for (const auto& entry : fs::directory_iterator("conformance/models/zoo")) {
      const fs::path path = entry.path() / "model.pt2";
      if (fs::exists(path)) paths.push_back(path.string());
    }
    std::sort(paths.begin(), paths.end());
    return paths;
  }

  // Returns false if it cannot be lowered or has no dynamic sizes.
  bool Load(const std::string& path, Model& model) {
    auto imported = exir::ImportFile(path, *ops_, {});
    if (!imported.ok()) return false;
    auto edge = exir::ToEdge(*std::move(imported));
    if (!edge.ok()) return false;
    exir::MethodPrograms methods;
    methods.emplace_back("forward", edge->Clone());
    // Folded batch norms round differently from the interpreter; propagated constants are bitwise
    // equal.
    const auto image = exir::LowerPrograms(
        std::move(methods), {.fold_constants = false, .passes = {exir::PropagateConstants()}});
    if (!image.ok()) return false;
    model.edge = std::make_unique<exir::ExportedProgram>(*std::move(edge));
    auto program = exir::OpenImage(*image);
    EXPECT_OK(program.status());
    model.program = std::make_unique<Program>(*std::move(program));
    auto method = Method::Load(*model.program, "forward", kernels_, backends_);
    EXPECT_OK(method.status());
    model.method = std::make_unique<Method>(*std::move(method));
    auto interpreter = exir::Interpreter::Create(*model.edge, kernels_);
    EXPECT_OK(interpreter.status());
    model.interpreter = std::make_unique<exir::Interpreter>(*std::move(interpreter));
    for (const InputPlan& input : model.method->plan().inputs) {
      for (const SizeConstraint& c : input.constraints) {
        Range& range = model.symbols[c.symbol];
        range.min = std::max(range.min, DivideUp(c.min - c.offset, c.multiplier));
        range.max = std::min(range.max, (c.max - c.offset) / c.multiplier);
      }
    }
    return !model.symbols.empty();
  }

  // Returns the plan without instructions.
  static MethodPlan InputsOf(const MethodPlan& plan) {
    MethodPlan inputs;
    inputs.values = plan.values;
    inputs.inputs = plan.inputs;
    return inputs;
  }

  // Returns inputs for these values of the symbols.
  static std::vector<EValue> Inputs(const MethodPlan& plan,
                                    const std::map<std::string, int64_t>& symbols, uint64_t seed,
                                    std::vector<NpyArray>& arrays) {
    MethodPlan fixed = InputsOf(plan);  // with the requested sizes
    std::vector<EValue> values;
    std::deque<Sizes> wanted;
    arrays.resize(plan.inputs.size());
    for (size_t i = 0; i < plan.inputs.size(); ++i) {
      auto* tensor = std::get_if<TensorPlan>(&fixed.values[plan.inputs[i].value]);
      int64_t scalar = 0;
      Sizes sizes;
      if (tensor != nullptr) sizes = tensor->sizes;
      for (const SizeConstraint& c : plan.inputs[i].constraints) {
        const int64_t size = symbols.at(c.symbol) * c.multiplier + c.offset;
        if (tensor != nullptr) sizes[static_cast<int>(c.dim)] = size;
        scalar = std::clamp(size, c.min, c.max);
      }
      if (tensor != nullptr) {
        tensor->sizes = wanted.emplace_back(sizes);
        tensor->dynamic_dims = 0;
      }
      const bool is_int =
          std::get_if<ScalarKind>(&fixed.values[plan.inputs[i].value]) != nullptr &&
          std::get<ScalarKind>(fixed.values[plan.inputs[i].value]) == ScalarKind::kInt &&
          !plan.inputs[i].constraints.empty();
      fixed.inputs[i].constraints.clear();
      if (is_int) {
        values.emplace_back(scalar);
        continue;
      }
      values.push_back(ConstantInput(plan, i));
      if (!InputTakesArray(plan, i)) continue;
      auto array = RandomInput(fixed, i, seed + i, 1);
      EXPECT_OK(array.status());
      arrays[i] = *std::move(array);
      const auto value = InputFromNpy(plan, i, arrays[i]);
      EXPECT_OK(value.status());
      values.back() = *value;
    }
    return values;
  }

  std::unique_ptr<exir::OpRegistry> ops_;
  KernelRegistry kernels_;
  BackendRegistry backends_;
};

TEST_F(DynamicSizesTest, RuntimeAndInterpreterAgreeWhileSizesGrowAndShrink) {
  int models = 0, agreed = 0;
  for (const std::string& path : Archives()) {
    SCOPED_TRACE(path);
    Model model;
    if (!Load(path, model)) continue;
    ++models;
    uint64_t seed = TestSeed();
    for (const int step : {0, 1, 2, 1, 0, 2, 0}) {  // of smallest, middle, largest
      std::map<std::string, int64_t> sizes;
      for (const auto& [symbol, range] : model.symbols) {
        sizes[symbol] = step == 0   ? range.min
                        : step == 1 ? range.min + (range.max - range.min) / 2
                                    : range.max;
      }
      std::vector<NpyArray> arrays;
      const auto inputs = Inputs(model.method->plan(), sizes, seed, arrays);
      seed += 100;
      const exir::CallOutcome want = exir::RunCall(*model.interpreter, inputs);
      const exir::CallOutcome got = exir::RunCall(*model.method, inputs);
      // If the program itself rejects the sizes (a guard between inputs), both must fail.
      agreed += want.status.ok() ? 1 : 0;
      EXPECT_EQ(exir::FirstDifference({want}, {got}, exir::Closeness()), "") << "step " << step;
    }
  }
  EXPECT_GT(models, 5);
  EXPECT_GT(agreed, 5 * models);
}

TEST_F(DynamicSizesTest, RejectsSizesOutOfBounds) {
  int refused = 0;
  for (const std::string& path : Archives()) {
    SCOPED_TRACE(path);
    Model model;
    if (!Load(path, model)) continue;
    const MethodPlan& plan = model.method->plan();
    for (size_t i = 0; i < plan.inputs.size(); ++i) {
      const auto* tensor = std::get_if<TensorPlan>(&plan.values[plan.inputs[i].value]);
      if (tensor == nullptr) continue;
      for (const SizeConstraint& c : plan.inputs[i].constraints) {
        for (const int64_t size : {c.max + 1, c.min - 1}) {
          if (size < 0) continue;
          MethodPlan fixed = InputsOf(plan);
          auto& wrong = std::get<TensorPlan>(fixed.values[plan.inputs[i].value]);
          Sizes sizes = wrong.sizes;
          sizes[static_cast<int>(c.dim)] = size;
          wrong.sizes = sizes;
          wrong.dynamic_dims = 0;
          fixed.inputs[i].constraints.clear();
          ASSERT_OK_AND_ASSIGN(const NpyArray array, RandomInput(fixed, i, 1, 1));
          TensorView view = array.view();
          view.dtype = tensor->dtype;
          EXPECT_THAT(model.method->SetInput(i, view),
                      StatusIs(absl::StatusCode::kOutOfRange,
                               HasSubstr(absl::StrCat("dimension ", c.dim, " is ", size,
                                                      ", allowed are ", c.min, " to ", c.max))));
          ++refused;
        }
      }
    }
  }
  EXPECT_GT(refused, 10);
}

}  // namespace
}  // namespace belay::conformance
