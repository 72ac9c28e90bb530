// Adds programs to the frozen ones: write_compat DIRECTORY, from the root of the workspace. Never
// changes existing files.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/aot_backends.h"
#include "exir/ops/standard_ops.h"
#include "exir/pipeline.h"
#include "exir/serialize/serializer.h"
#include "runtime/core/mapped_file.h"
#include "runtime/core/npy.h"
#include "runtime/core/status_macros.h"
#include "runtime/executor/testing/program_builder.h"

namespace belay {
namespace {

namespace fs = std::filesystem;

constexpr char kZoo[] = "conformance/models/zoo";

struct Frozen {
  const char* name;
  // (method, model of the zoo)
  std::vector<std::pair<std::string, std::string>> methods;
  const char* archive = "model.pt2";
  const char* backend = "";
  const char* companion = "";
};

const std::vector<Frozen>& Table() {
  static const std::vector<Frozen>& table = *new std::vector<Frozen>{
      {"plain", {{"forward", "mlp"}}},
      {"training", {{"forward", "bf16_mlp"}}, "training.pt2"},
      {"dynamic", {{"forward", "dynamic_batch_mlp"}}},
      {"branch", {{"forward", "cond_simple"}}},
      {"loop", {{"forward", "while_loop"}}},
      {"state", {{"forward", "counter_buffer"}}},
      {"cache", {{"forward", "slice_cache"}}},
      {"mutated_inputs", {{"forward", "input_mutation"}}},
      {"symbolic", {{"forward", "symint_arithmetic"}}},
      {"measured_sizes", {{"forward", "item_sizes"}}},
      {"quantized", {{"forward", "dynamic_int8_mlp"}}},
      {"delegate", {{"forward", "dynamic_batch_mlp"}}, "model.pt2", "demo"},
      {"methods", {{"classify", "mlp"}, {"embed", "tied_weights"}}},
      {"companion", {{"forward", "mlp"}}, "model.pt2", "", "weights"},
  };
  return table;
}

absl::Status Add(const Frozen& row, const fs::path& folder, const exir::OpRegistry& ops) {
  exir::PipelineOptions options;
  std::unique_ptr<exir::Partitioner> partitioner;
  if (*row.backend != '\0') {
    ABSL_ASSIGN_OR_RETURN(partitioner, CreatePartitioner(row.backend, {}));
    options.partitioners.all = {partitioner.get()};
    options.backends = &AotBackends();
  }
  std::vector<exir::MethodArchive> archives;
  for (const auto& [method, model] : row.methods) {
    archives.emplace_back(method, absl::StrCat(kZoo, "/", model, "/", row.archive));
  }
  ABSL_ASSIGN_OR_RETURN(const exir::ProgramImage image, exir::LowerFiles(archives, ops, options));
  fs::create_directories(folder);
  ABSL_RETURN_IF_ERROR(exir::WriteProgramFile(
      image, (folder / "program.belay").string(),
      {.companions = *row.companion != '\0', .constants_companion = row.companion}));
  for (const auto& [method, model] : row.methods) {
    const fs::path from = fs::path(kZoo) / model, to = folder / method;
    fs::create_directories(to);
    fs::copy_file(from / "manifest.json", to / "manifest.json");
    for (const auto& entry : fs::directory_iterator(from)) {
      const std::string name = entry.path().filename().string();
      if (name.rfind("case_", 0) == 0) {
        fs::copy(entry.path(), to / name, fs::copy_options::recursive);
      }
    }
  }
  return absl::OkStatus();
}

// y = cos(sin(x)), with a backend that looks up its operators by key.
absl::Status AddNamedData(const fs::path& folder) {
  TestProgram program;
  program.metadata().set_producer("belay");
  program.AddNamedData("cosine", "op:aten.cos.default");
  program.AddNamedData("sine", "op:aten.sin.default");
  const uint32_t blob = program.AddSegment(schema::Segment::DELEGATE, "sine\ncosine");
  TestMethod method = program.AddMethod("forward");
  const uint32_t x = method.Input("x", DType::kFloat32, {2, 3});
  const uint32_t y = method.Arena(DType::kFloat32, {2, 3});
  method.Delegate("BackendWithNamedDataMap", blob, {x}, {y});
  method.Output(y);

  float in[] = {-1, -0.5, 0, 0.5, 1, 2}, out[6];
  for (int i = 0; i < 6; ++i) out[i] = std::cos(std::sin(in[i]));
  fs::create_directories(folder / "forward" / "case_0");
  const std::string cases = (folder / "forward" / "case_0").string();
  ABSL_RETURN_IF_ERROR(
      WriteFileAtomically((folder / "program.belay").string(), {program.Serialize()}));
  ABSL_RETURN_IF_ERROR(WriteNpy(absl::StrCat(cases, "/input_0.npy"),
                                TensorView::Contiguous(DType::kFloat32, {2, 3}, in)));
  ABSL_RETURN_IF_ERROR(WriteNpy(absl::StrCat(cases, "/output_0.npy"),
                                TensorView::Contiguous(DType::kFloat32, {2, 3}, out)));
  constexpr char kLeaf[] = R"({"kind": "tensor", "dtype": "float32", "shape": [2, 3], "file": ")";
  return WriteFileAtomically(
      (folder / "forward" / "manifest.json").string(),
      {absl::StrCat("{\n \"name\": \"named_data\",\n \"archives\": {\"none\": \"EDGE\"},\n "
                    "\"cases\": [{\"inputs\": [",
                    kLeaf, "input_0.npy\"}], \"outputs\": [", kLeaf,
                    "output_0.npy\"}]}],\n \"atol\": 1e-06,\n \"rtol\": 1e-06,\n "
                    "\"stateful_sequence\": false\n}\n")});
}

absl::Status AddAll(const fs::path& directory) {
  ABSL_ASSIGN_OR_RETURN(const auto ops, exir::CreateStandardOps());
  const auto add = [&](const std::string& name, auto write) -> absl::Status {
    const fs::path folder = directory / name;
    if (fs::exists(folder)) return absl::OkStatus();
    const absl::Status status = write(folder);
    if (!status.ok()) fs::remove_all(folder);
    std::printf("%s: %s\n", name.c_str(), status.ToString().c_str());
    return status;
  };
  for (const Frozen& row : Table()) {
    ABSL_RETURN_IF_ERROR(
        add(row.name, [&](const fs::path& folder) { return Add(row, folder, *ops); }));
  }
  return add("named_data", AddNamedData);
}

}  // namespace
}  // namespace belay

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: write_compat DIRECTORY\n");
    return 2;
  }
  // `bazel run` changes the working directory.
  if (const char* root = std::getenv("BUILD_WORKSPACE_DIRECTORY")) {
    std::filesystem::current_path(root);
  }
  return belay::AddAll(argv[1]).ok() ? 0 : 1;
}
