// Every program written by a released version loads and computes the same results.
#include <algorithm>
#include <filesystem>
#include <ostream>
#include <string>
#include <vector>

#include "backends/runtime_backends.h"
#include "conformance/models/manifest.h"
#include "conformance/models/model_runner.h"
#include "runtime/core/testing.h"
#include "runtime/executor/method.h"
#include "runtime/kernels/standard_kernels.h"
#include "runtime/program/digest.h"
#include "runtime/program/program.h"

namespace belay {
namespace {

namespace fs = std::filesystem;

constexpr char kRoot[] = "conformance/compat";

// "1.0/plain", …
std::vector<std::string> Frozen() {
  std::vector<std::string> names;
  for (const auto& version : fs::directory_iterator(kRoot)) {
    if (!version.is_directory()) continue;
    for (const auto& program : fs::directory_iterator(version)) {
      names.push_back(version.path().filename().string() + "/" +
                      program.path().filename().string());
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

class CompatTest : public ::testing::TestWithParam<std::string> {};

TEST_P(CompatTest, LoadsAndComputesTheSame) {
  // Companion files are opened without following links, but test data are links.
  const fs::path folder = fs::path(::testing::TempDir()) / "compat" / GetParam();
  fs::remove_all(folder);
  fs::create_directories(folder);
  fs::copy(fs::path(kRoot) / GetParam(), folder, fs::copy_options::recursive);

  ASSERT_OK_AND_ASSIGN(const Program program, Program::Open((folder / "program.belay").string()));
  EXPECT_OK(VerifyDigests(program));
  KernelRegistry kernels;
  ASSERT_OK(AddStandardKernels(kernels));
  ASSERT_FALSE(program.methods().empty());
  for (const MethodPlan& plan : program.methods()) {
    const std::string cases = (folder / plan.name).string();
    ASSERT_OK_AND_ASSIGN(const conformance::Manifest manifest,
                         conformance::ReadManifest(cases + "/manifest.json"));
    ASSERT_FALSE(manifest.cases.empty());
    ASSERT_OK_AND_ASSIGN(Method method,
                         Method::Load(program, plan.name, kernels, RuntimeBackends()));
    EXPECT_OK(conformance::RunCases(cases, manifest, method)) << plan.name;
  }
}

INSTANTIATE_TEST_SUITE_P(All, CompatTest, ::testing::ValuesIn(Frozen()), [](const auto& info) {
  std::string name = info.param;
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
});

// Folders are never removed.
TEST(CompatFoldersTest, NoneIsMissing) { EXPECT_GE(Frozen().size(), 15u); }

}  // namespace
}  // namespace belay
