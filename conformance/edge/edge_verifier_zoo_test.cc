// Converts every archive of conformance/models and verifies it as an edge program.
#include <algorithm>
#include <filesystem>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "exir/import/import.h"
#include "exir/ops/standard_ops.h"
#include "exir/passes/edge_verifier.h"
#include "exir/pipeline.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

namespace fs = std::filesystem;

// Operators with kernels in Belay that are not core ATen and that PyTorch does not decompose (or
// keeps in archives of the ATen dialect).
constexpr std::string_view kNotCore[] = {
    "aten.__lshift__.Scalar",
    "aten.__rshift__.Scalar",
    "aten._linalg_check_errors.default",
    "aten._linalg_det.default",
    "aten._trilinear.default",
    "aten.adaptive_max_pool2d.default",
    "aten.angle.default",
    "aten.copysign.Tensor",
    "aten.cummax.default",
    "aten.cumprod.default",
    "aten.hypot.default",
    "aten.linalg_cholesky.default",
    "aten.linalg_cholesky_ex.default",
    "aten.linalg_det.default",
    "aten.linalg_inv.default",
    "aten.linalg_inv_ex.default",
    "aten.linalg_vector_norm.default",
    "aten.masked_select.default",
    "aten.median.dim",
    "aten.searchsorted.Tensor",
    "aten.sort.stable",
    "aten.var_mean.correction",
};

TEST(EdgeVerifierZooTest, ConvertedModelsVerify) {
  const absl::StatusOr<std::unique_ptr<OpRegistry>> ops = CreateStandardOps();
  ASSERT_TRUE(ops.ok());
  std::vector<std::string> paths;
  for (const char* folder : {"conformance/models/zoo", "conformance/models/eras"}) {
    for (const fs::directory_entry& model : fs::directory_iterator(folder)) {
      for (const char* name : {"model.pt2", "training.pt2"}) {
        if (fs::exists(model.path() / name)) paths.push_back(model.path() / name);
      }
    }
  }
  std::sort(paths.begin(), paths.end());
  EdgeVerifierOptions options;
  options.core_exceptions.assign(std::begin(kNotCore), std::end(kNotCore));
  options.allow_float8 = true;
  size_t verified = 0;
  for (const std::string& path : paths) {
    absl::StatusOr<ExportedProgram> program = ImportFile(path, **ops, {});
    if (!program.ok()) continue;  // tested with the importer
    ToEdgeOptions to_edge;
    to_edge.check_ir_validity = false;
    absl::StatusOr<ExportedProgram> edge = ToEdge(*std::move(program), to_edge);
    if (!edge.ok()) continue;  // tested with the models
    ++verified;
    EXPECT_OK(VerifyEdge(*edge, options)) << path;
  }
  EXPECT_GT(verified, 60u) << "of " << paths.size();
}

}  // namespace
}  // namespace belay::exir
