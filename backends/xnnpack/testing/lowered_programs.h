// Test fixture that lowers programs with the XNNPACK partitioner, executes them, and compares with
// the interpreted original program.
#ifndef BELAY_BACKENDS_XNNPACK_TESTING_LOWERED_PROGRAMS_H_
#define BELAY_BACKENDS_XNNPACK_TESTING_LOWERED_PROGRAMS_H_

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/aot_backend.h"
#include "backends/xnnpack/aot/payload_writer.h"
#include "backends/xnnpack/graph_reader.h"
#include "backends/xnnpack/library_rules.h"
#include "backends/xnnpack/node_rules.h"
#include "exir/backend/partitioner.h"
#include "exir/backend/to_backend.h"
#include "exir/compare/call.h"
#include "exir/compare/compare.h"
#include "exir/emit/emitter.h"
#include "exir/interpreter/interpreter.h"
#include "exir/ir/lowered_backend_module.h"
#include "exir/ir/text.h"
#include "exir/ops/standard_ops.h"
#include "exir/testing/module_data.h"
#include "exir/testing/programs.h"
#include "gtest/gtest.h"
#include "runtime/backend/backend_registry.h"
#include "runtime/core/memory_budget.h"
#include "runtime/core/random.h"
#include "runtime/core/testing.h"
#include "runtime/core/thread_pool.h"
#include "runtime/executor/method.h"
#include "runtime/kernels/reference/reference_kernels.h"
#include "runtime/program/program.h"

namespace belay::xnnpack {

AotBackend Aot();
std::vector<const BackendRuntime*> Runtimes();

inline constexpr exir::Closeness kClose = {.atol = 1e-5, .rtol = 1e-5};

inline float Draw(Random& random) { return static_cast<float>(random.Next() % 257) / 64 - 2; }

// Symbolic sizes become `dynamic`.
inline exir::OwnedValue RandomTensor(const exir::TensorMeta& meta, Random& random,
                                     int64_t dynamic) {
  Sizes sizes;
  for (const exir::SymInt& size : meta.sizes) sizes.push_back(size.AsInt().value_or(dynamic));
  absl::StatusOr<exir::OwnedValue> made = exir::OwnedValue::Allocate(
      meta.dtype, sizes, DenseStrides(sizes, *exir::DimOrderOf(meta)), uint64_t{1} << 20);
  EXPECT_OK(made.status());
  const TensorView& tensor = *made->tensor();
  for (int64_t i = 0; i < tensor.numel(); ++i) tensor.as<float>()[i] = Draw(random);
  return *std::move(made);
}

// Parses a program and fills constants with random elements instead of the text form's zeros. int8
// gets any values, constants named s… get small positive values as scales, and int64 zero points
// stay 0. Constants and inputs are the same in each run: XNNPACK may round ties of a quantized
// network differently, and a step within it becomes several at its end. These elements avoid such
// ties.
inline exir::ExportedProgram Parse(std::string_view text, const exir::OpRegistry& ops) {
  exir::ExportedProgram program = exir::ParseOrDie(text, ops);
  Random random(7);
  for (auto& [name, tensor] : program.state_dict) {
    std::vector<std::byte> bytes(tensor.view().nbytes());
    auto* elements = reinterpret_cast<float*>(bytes.data());
    for (int64_t i = 0; i < tensor.view().numel(); ++i) {
      if (tensor.dtype() == DType::kInt8) bytes[static_cast<size_t>(i)] = std::byte(random.Next());
      if (tensor.dtype() != DType::kFloat32) continue;
      elements[i] =
          name[0] == 's' ? (Draw(random) + 3) / 256 : Draw(random) / 4 + (name == "v" ? 1 : 0);
    }
    auto made = exir::ConstantTensor::Contiguous(tensor.dtype(), tensor.sizes(),
                                                 exir::Storage::Own(std::move(bytes)));
    EXPECT_OK(made.status());
    tensor = *std::move(made);
  }
  return program;
}

class XnnpackTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(ops_, exir::CreateStandardOps());
    ASSERT_OK(AddReferenceKernels(kernels_));
    for (const exir::Backend* backend : Aot().backends) ASSERT_OK(set_.Add(backend));
    for (const BackendRuntime* runtime : Runtimes()) ASSERT_OK(registry_.Add(runtime));
  }

  absl::StatusOr<exir::ExportedProgram> Lower(
      const exir::ExportedProgram& program,
      const std::vector<exir::CompileSpec>& compile_specs = {}) {
    return exir::ToBackend(program, *Aot().create_partitioner(compile_specs), set_);
  }

  // Lowers the program and calls it. Expects that one delegate holds everything except the
  // computation of sizes. Returns the delegate's node types.
  std::vector<std::string> ExpectSame(std::string_view text, exir::Closeness close = kClose,
                                      const std::vector<exir::CompileSpec>& specs = {}) {
    const exir::ExportedProgram program = Parse(text, *ops_);
    auto interpreter = exir::Interpreter::Create(program, kernels_);
    EXPECT_OK(interpreter.status());
    if (!interpreter.ok()) return {};
    auto lowered = Lower(program, specs);
    EXPECT_OK(lowered.status());
    if (!lowered.ok()) return {};
    size_t computing = lowered->top().num_nodes();
    for (exir::NodeId id : lowered->top().nodes()) {
      computing -= lowered->top().node(id).target->name() == "aten.sym_size.int" ? 1 : 0;
    }
    EXPECT_EQ(computing, 1u) << exir::PrintProgram(*lowered);
    if (lowered->lowered_modules.size() == 0) return {};
    std::vector<std::string> types = NodeTypes(*lowered);
    exir::CallSequence calls;
    for (int64_t dynamic : {5, 2}) {
      std::vector<exir::OwnedValue> inputs;
      for (size_t i = 0; i < program.top().inputs().size(); ++i) {
        if (exir::NamesTensor(program.signature.inputs[i].kind)) continue;
        const exir::Value& input = program.top().value(program.top().inputs()[i]);
        inputs.push_back(RandomTensor(*input.tensor(), random_, dynamic));
        const TensorView& tensor = *inputs.back().tensor();
        for (int64_t k = 0; !specials_.empty() && k < tensor.numel(); ++k) {
          if (random_.Chance(10))
            tensor.as<float>()[k] = specials_[random_.Below(specials_.size())];
        }
      }
      calls.push_back(std::move(inputs));
      if (program.ranges.empty()) break;
    }
    exir::MethodPrograms methods;
    methods.emplace_back("forward", *std::move(lowered));
    auto image = exir::EmitProgram(methods);
    EXPECT_OK(image.status());
    if (!image.ok()) return types;
    auto file = exir::OpenImage(*image);
    EXPECT_OK(file.status());
    auto method = Method::Load(*file, "forward", kernels_, registry_);
    EXPECT_OK(method.status()) << text;
    if (!method.ok()) return types;
    const auto want = exir::RunCalls(*interpreter, calls);
    EXPECT_OK(want.back().status);
    const auto got = exir::RunCalls(*method, calls);
    EXPECT_OK(got.back().status);
    EXPECT_EQ(exir::FirstDifference(want, got, close), "") << text;
    for (int threads : {2, 3, 5}) {
      ThreadPool pool(threads);
      auto threaded = Method::Load(*file, "forward", kernels_, registry_, {.threads = &pool});
      EXPECT_OK(threaded.status());
      if (!threaded.ok()) return types;
      EXPECT_EQ(exir::FirstDifference(got, exir::RunCalls(*threaded, calls), exir::kIdentical), "")
          << threads << " threads: " << text;
    }
    return types;
  }

  static std::vector<std::string> NodeTypes(const exir::ExportedProgram& lowered) {
    const exir::LoweredBackendModule& module = *lowered.lowered_modules[exir::ModuleId(0)];
    const exir::ModuleData data(module.named_data);
    MemoryBudget memory("delegate_bytes", 1 << 30);
    size_t arguments = 0;
    for (const exir::InputSpec& input : module.original.signature.inputs) {
      arguments += exir::NamesTensor(input.kind) ? 0 : 1;
    }
    const auto graph = ReadGraph(module.processed.bytes, data, arguments,
                                 module.original.signature.outputs.size(), kLibrarySupport, memory);
    EXPECT_OK(graph.status());
    std::vector<std::string> types;
    if (!graph.ok()) return types;
    for (const Node& node : graph->nodes) types.emplace_back(NodeTypeName(node.type));
    return types;
  }

  std::unique_ptr<exir::OpRegistry> ops_;
  KernelRegistry kernels_;
  exir::BackendSet set_;
  BackendRegistry registry_;
  Random random_{1};
  std::vector<float> specials_;  // special values for some elements of inputs
};

// Returns the text of a one-node program; `constants`: "w: f32[2,3]"; `ranges`: "s0: [1, 5]".
inline std::string Program(const std::vector<std::string>& constants, const std::string& inputs,
                           const std::string& body, const std::string& result = "%y user_output",
                           const std::string& ranges = "") {
  std::string text = "program edge {\n";
  if (!ranges.empty()) absl::StrAppend(&text, "ranges { ", ranges, " }\n");
  if (!constants.empty()) absl::StrAppend(&text, "constants {");
  std::string parameters;
  for (const std::string& constant : constants) {
    const size_t colon = constant.find(':');
    const std::string name = constant.substr(0, colon);
    absl::StrAppend(&text, " state \"", name, "\"", constant.substr(colon));
    absl::StrAppend(&parameters, "%", constant, " parameter \"", name, "\", ");
  }
  if (!constants.empty()) absl::StrAppend(&text, " }\n");
  return absl::StrCat(text, "graph(", parameters, inputs, ") {\n", body, "\nreturn (", result,
                      ") } }");
}

}  // namespace belay::xnnpack

#endif  // BELAY_BACKENDS_XNNPACK_TESTING_LOWERED_PROGRAMS_H_
