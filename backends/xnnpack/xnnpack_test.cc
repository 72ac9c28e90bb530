// From edge programs to results: lowered with the XNNPACK partitioner, executed, and compared with
// the interpreter of the program as it was.
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/aot_backend.h"
#include "backends/xnnpack/aot/payload_writer.h"
#include "backends/xnnpack/graph_reader.h"
#include "backends/xnnpack/node_rules.h"
#include "exir/backend/partitioner.h"
#include "exir/backend/to_backend.h"
#include "exir/emit/emitter.h"
#include "exir/engine/call.h"
#include "exir/engine/compare.h"
#include "exir/interpreter/interpreter.h"
#include "exir/ir/lowered_backend_module.h"
#include "exir/ir/text.h"
#include "exir/ops/standard_ops.h"
#include "exir/testing/module_data.h"
#include "exir/testing/programs.h"
#include "gmock/gmock.h"
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

namespace {

using exir::OwnedValue;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr exir::Closeness kClose = {.atol = 1e-5, .rtol = 1e-5};

float Draw(Random& random) { return static_cast<float>(random.Next() % 257) / 64 - 2; }

// Sizes that change have `dynamic` elements.
OwnedValue RandomTensor(const exir::TensorMeta& meta, Random& random, int64_t dynamic) {
  Sizes sizes;
  for (const exir::SymInt& size : meta.sizes) sizes.push_back(size.AsInt().value_or(dynamic));
  absl::StatusOr<OwnedValue> made = OwnedValue::Allocate(
      meta.dtype, sizes, DenseStrides(sizes, *exir::DimOrderOf(meta)), uint64_t{1} << 20);
  EXPECT_OK(made.status());
  const TensorView& tensor = *made->tensor();
  for (int64_t i = 0; i < tensor.numel(); ++i) tensor.as<float>()[i] = Draw(random);
  return *std::move(made);
}

// Constants have random elements instead of the text's zeros: those of int8 any, those called s…
// small positive ones, as scales are; int64, zero points, stays 0. They and the inputs are the same at
// each run: XNNPACK may round the other way what lies between two steps of a quantized network, and a
// step in its middle is several at its end. These elements stay away from there.
exir::ExportedProgram Parse(std::string_view text, const exir::OpRegistry& ops) {
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

  // Lowers the program, all of which must be in one delegate but for what computes sizes, and calls
  // it. Returns the delegate's node types.
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
      std::vector<OwnedValue> inputs;
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
                                 module.original.signature.outputs.size(), memory);
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
  std::vector<float> specials_;  // what some elements of inputs are
};

// A program of one node; `constants`: "w: f32[2,3]"; `ranges`: "s0: [1, 5]".
std::string Program(const std::vector<std::string>& constants, const std::string& inputs,
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

TEST_F(XnnpackTest, UnaryNodesComputeTheSame) {
  for (const char* call :
       {"relu.default(%x)", "clamp.default(%x, -0.5, 1.0)", "clamp.default(%x, none, 1)",
        "hardtanh.default(%x)", "sigmoid.default(%x)", "abs.default(%x)", "neg.default(%x)",
        "floor.default(%x)", "ceil.default(%x)", "leaky_relu.default(%x, 0.1)",
        "elu.default(%x, 1.5)", "pow.Tensor_Scalar(%x, 2)", "_softmax.default(%x, -1, false)",
        "add.Scalar(%x, 2)", "mul.Scalar(%x, 0.5)", "sub.Scalar(%x, 1)", "div.Scalar(%x, 3)"}) {
    ExpectSame(Program({}, "%x: f32[2,3,5] user_input",
                       absl::StrCat("%y: f32[2,3,5] = edge.aten.", call)));
  }
  ExpectSame(Program({}, "%x: f32[2,3] user_input",
                     "%p: f32[2,3] = edge.aten.mul.Tensor(%x, %x)\n"
                     "%y: f32[2,3] = edge.aten.sqrt.default(%p)"));
  ExpectSame(Program({}, "%x: f32[] user_input", "%y: f32[] = edge.aten.add.Scalar(%x, 2)"));
}

TEST_F(XnnpackTest, WhatTheLibraryLacksIsComputedAllTheSame) {
  for (const char* call :
       {"gelu.default(%p)", "tanh.default(%p)", "exp.default(%p)", "sin.default(%p)",
        "cos.default(%p)", "log.default(%p)", "rsqrt.default(%p)"}) {
    EXPECT_EQ(ExpectSame(Program({}, "%x: f32[2,3,5] user_input",
                                 absl::StrCat("%q: f32[2,3,5] = edge.aten.abs.default(%x)\n"
                                              "%p: f32[2,3,5] = edge.aten.add.Scalar(%q, 0.5)\n"
                                              "%y: f32[2,3,5] = edge.aten.",
                                              call)),
                         kClose, {{"target", "executorch-1.5"}})
                  .size(),
              3u);
  }
  EXPECT_THAT(ExpectSame(Program({}, "%x: f32[2,3,5] user_input, %z: f32[2,5,4] user_input",
                                 "%y: f32[2,3,4] = edge.aten.bmm.default(%x, %z)"),
                         kClose, {{"target", "executorch-1.5"}}),
              ElementsAre("BatchMatrixMultiply"));
}

TEST_F(XnnpackTest, BinaryNodesBroadcast) {
  for (const char* op : {"add", "sub", "mul", "div"}) {
    ExpectSame(Program({"w: f32[3,1]"}, "%x: f32[2,1,5] user_input",
                       absl::StrCat("%y: f32[2,3,5] = edge.aten.", op, ".Tensor(%x, %w)")));
  }
  for (const char* op : {"minimum", "maximum"}) {
    ExpectSame(Program({}, "%x: f32[2,1,5] user_input, %z: f32[3,1] user_input",
                       absl::StrCat("%y: f32[2,3,5] = edge.aten.", op, ".default(%x, %z)")));
  }
}

TEST_F(XnnpackTest, NanStays) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  specials_ = {std::numeric_limits<float>::quiet_NaN(), kInfinity, -kInfinity, 0.0f};
  for (const char* call :
       {"relu.default(%x)", "clamp.default(%x, -0.5, 1.0)", "clamp.default(%x, none, 1)",
        "hardtanh.default(%x)", "sigmoid.default(%x)", "abs.default(%x)", "neg.default(%x)",
        "floor.default(%x)", "ceil.default(%x)", "leaky_relu.default(%x, 0.1)",
        "elu.default(%x, 1.5)", "pow.Tensor_Scalar(%x, 2)", "_softmax.default(%x, -1, false)",
        "add.Scalar(%x, 2)", "mul.Scalar(%x, 0)", "sub.Scalar(%x, 1)", "div.Scalar(%x, 0)",
        "sqrt.default(%x)"}) {
    ExpectSame(Program({}, "%x: f32[7,3,5] user_input",
                       absl::StrCat("%y: f32[7,3,5] = edge.aten.", call)));
  }
  for (const char* op : {"add.Tensor", "sub.Tensor", "mul.Tensor", "div.Tensor", "minimum.default",
                         "maximum.default"}) {
    // Either operand repeated in dimensions of its own; with bounds; without dimensions.
    ExpectSame(Program({}, "%x: f32[2,1,7,1,5] user_input, %z: f32[3,1,4,1] user_input",
                       absl::StrCat("%y: f32[2,3,7,4,5] = edge.aten.", op, "(%x, %z)")));
    ExpectSame(Program({}, "%x: f32[9,5] user_input, %z: f32[9,5] user_input",
                       absl::StrCat("%p: f32[9,5] = edge.aten.", op,
                                    "(%x, %z)\n%y: f32[9,5] = edge.aten.relu.default(%p)")));
    ExpectSame(Program({}, "%x: f32[] user_input, %z: f32[6] user_input",
                       absl::StrCat("%y: f32[6] = edge.aten.", op, "(%z, %x)")));
  }
}

TEST_F(XnnpackTest, NanOfWeightedSumsAndWindowsStays) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  specials_ = {std::numeric_limits<float>::quiet_NaN(), kInfinity, -kInfinity};
  for (const char* bounds : {"-0.5, 0.5", "0, 6", "-inf, inf"}) {
    const std::string clamp = absl::StrCat(" = edge.aten.hardtanh.default(%c, ", bounds, ")");
    ExpectSame(
        Program({"b: f32[7]", "w: f32[5,7]"}, "%x: f32[16,5] user_input",
                "%c: f32[16,7] = edge.aten.addmm.default(%b, %x, %w)\n%y: f32[16,7]" + clamp));
    ExpectSame(Program({"w: f32[7,5]"}, "%x: f32[16,5] user_input",
                       "%t: f32[5,7] = edge.aten.permute_copy.default(%w, [1,0])\n"
                       "%c: f32[16,7] = edge.aten.mm.default(%x, %t)\n%y: f32[16,7]" +
                           clamp));
    ExpectSame(Program({"w: f32[8,3,3,2]", "b: f32[8]"}, "%x: f32[2,3,19,18] user_input",
                       "%c: f32[2,8,9,17] = edge.aten.convolution.default(%x, %w, %b, [2,1], "
                       "[0,1], [1,3], false, [0,0], 1)\n%y: f32[2,8,9,17]" +
                           clamp));
    ExpectSame(Program({"w: f32[6,2,3,3]"}, "%x: f32[1,4,9,9] user_input",
                       "%c: f32[1,6,9,9] = edge.aten.convolution.default(%x, %w, none, [1,1], "
                       "[1,1], [1,1], false, [0,0], 2)\n%y: f32[1,6,9,9]" +
                           clamp));
    ExpectSame(Program({"w: f32[8,1,3,3]", "b: f32[8]"}, "%x: f32[1,4,9,9] user_input",
                       "%c: f32[1,8,9,9] = edge.aten.convolution.default(%x, %w, %b, [1], [1], "
                       "[1], false, [0], 4)\n%y: f32[1,8,9,9]" +
                           clamp));
    ExpectSame(Program({"w: f32[4,6,3,3]", "b: f32[6]"}, "%x: f32[1,4,9,9] user_input",
                       "%c: f32[1,6,18,18] = edge.aten.convolution.default(%x, %w, %b, [2,2], "
                       "[1,1], [1,1], true, [1,1], 1)\n%y: f32[1,6,18,18]" +
                           clamp));
  }
  ExpectSame(Program({}, "%x: f32[1,3,17,18] user_input",
                     "%y: f32[1,3,9,9], %i: i64[1,3,9,9] = "
                     "edge.aten.max_pool2d_with_indices.default(%x, [3,3], [2,2], [1,1])"));
  ExpectSame(Program({}, "%x: f32[1,3,17,18] user_input",
                     "%y: f32[1,3,9,9] = edge.aten.avg_pool2d.default(%x, [3,3], [2,2], [1,1], "
                     "false, false)"));
  ExpectSame(Program({}, "%x: f32[9,3,3,2] user_input",
                     "%y: f32[9,3,1,1] = edge.aten.mean.dim(%x, [-1,-2], true)"));
}

TEST_F(XnnpackTest, LinearLayersComputeTheSame) {
  EXPECT_THAT(ExpectSame(Program({"b: f32[7]", "w: f32[5,7]"}, "%x: f32[3,5] user_input",
                                 "%l: f32[3,7] = edge.aten.addmm.default(%b, %x, %w)\n"
                                 "%y: f32[3,7] = edge.aten.relu.default(%l)")),
              ElementsAre("FullyConnected"));
  ExpectSame(Program({"w: f32[5,7]"}, "%x: f32[3,5] user_input",
                     "%y: f32[3,7] = edge.aten.mm.default(%x, %w)"));
}

TEST_F(XnnpackTest, WeightsThatArePermutedAreConstants) {
  EXPECT_THAT(ExpectSame(Program({"b: f32[7]", "w: f32[7,5]"}, "%x: f32[3,5] user_input",
                                 "%t: f32[5,7] = edge.aten.permute_copy.default(%w, [1,0])\n"
                                 "%y: f32[3,7] = edge.aten.addmm.default(%b, %x, %t)")),
              ElementsAre("FullyConnected"));
}

TEST_F(XnnpackTest, BatchNormsArePartOfConvolutionsOrConvolutions) {
  const std::string norm = ", %g, %b, %m, %v, 0.1, 1e-05)";
  EXPECT_THAT(
      ExpectSame(Program({"w: f32[4,3,1,1]", "g: f32[4]", "b: f32[4]", "m: f32[4]", "v: f32[4]"},
                         "%x: f32[1,3,6,5] user_input",
                         "%c: f32[1,4,6,5] = edge.aten.convolution.default(%x, %w, none, [1,1], "
                         "[0,0], [1,1], false, [0,0], 1)\n"
                         "%n: f32[1,4,6,5], %s: f32[0], %i: f32[0] = "
                         "edge.aten._native_batch_norm_legit_no_training.default(%c" +
                             norm + "\n%y: f32[1,4,6,5] = edge.aten.relu.default(%n)")),
      ElementsAre("StaticTranspose", "Conv2d", "StaticTranspose"));
  EXPECT_THAT(ExpectSame(Program({"g: f32[4]", "b: f32[4]", "m: f32[4]", "v: f32[4]"},
                                 "%x: f32[1,4,6,5] user_input",
                                 "%y: f32[1,4,6,5], %s: f32[0], %i: f32[0] = "
                                 "edge.aten._native_batch_norm_legit_no_training.default(%x" +
                                     norm)),
              ElementsAre("StaticTranspose", "DepthwiseConv2d", "StaticTranspose"));
}

TEST_F(XnnpackTest, ConvolutionsComputeTheSame) {
  EXPECT_THAT(
      ExpectSame(Program({"w: f32[8,3,3,2]", "b: f32[8]"}, "%x: f32[2,3,9,8] user_input",
                         "%y: f32[2,8,4,7] = edge.aten.convolution.default(%x, %w, %b, [2,1], "
                         "[0,1], [1,3], false, [0,0], 1)")),
      ElementsAre("StaticTranspose", "Conv2d", "StaticTranspose"));
  // In groups, without a bias.
  ExpectSame(Program({"w: f32[6,2,3,3]"}, "%x: f32[1,4,5,5] user_input",
                     "%y: f32[1,6,5,5] = edge.aten.convolution.default(%x, %w, none, [1,1], "
                     "[1,1], [1,1], false, [0,0], 2)"));
  EXPECT_THAT(
      ExpectSame(Program({"w: f32[8,1,3,3]", "b: f32[8]"}, "%x: f32[1,4,5,5] user_input",
                         "%y: f32[1,8,5,5] = edge.aten.convolution.default(%x, %w, %b, [1], [1], "
                         "[1], false, [0], 4)")),
      ElementsAre("StaticTranspose", "DepthwiseConv2d", "StaticTranspose"));
  EXPECT_THAT(
      ExpectSame(Program({"w: f32[4,6,3,3]", "b: f32[6]"}, "%x: f32[1,4,5,5] user_input",
                         "%y: f32[1,6,10,10] = edge.aten.convolution.default(%x, %w, %b, [2,2], "
                         "[1,1], [1,1], true, [1,1], 1)")),
      ElementsAre("StaticTranspose", "ConvTranspose2d", "StaticTranspose"));
}

TEST_F(XnnpackTest, PoolsComputeTheSame) {
  ExpectSame(Program({}, "%x: f32[1,3,7,8] user_input",
                     "%y: f32[1,3,4,4], %i: i64[1,3,4,4] = "
                     "edge.aten.max_pool2d_with_indices.default(%x, [3,3], [2,2], [1,1])"));
  ExpectSame(Program({}, "%x: f32[1,3,7,8] user_input",
                     "%y: f32[1,3,4,4] = edge.aten.avg_pool2d.default(%x, [3,3], [2,2], [1,1], "
                     "false, false)"));
  ExpectSame(Program({}, "%x: f32[2,3,4,5] user_input",
                     "%y: f32[2,3,1,1] = edge.aten.mean.dim(%x, [-1,-2], true)"));
}

TEST_F(XnnpackTest, MovingNodesComputeTheSame) {
  const auto with = [](const std::string& body) {
    return Program({}, "%x: f32[2,3,4] user_input",
                   absl::StrCat("%a: f32[2,3,4] = edge.aten.abs.default(%x)\n", body));
  };
  ExpectSame(with("%y: f32[4,2,3] = edge.aten.permute_copy.default(%a, [2,0,-2])"));
  ExpectSame(with("%y: f32[2,4,3] = edge.aten.transpose_copy.int(%a, 1, -1)"));
  ExpectSame(with("%y: f32[6,4] = edge.aten.view_copy.default(%a, [6,4])"));
  ExpectSame(with("%y: f32[2,3,4,1] = edge.aten.unsqueeze_copy.default(%a, -1)"));
  ExpectSame(with("%y: f32[2,3,2] = edge.aten.slice_copy.Tensor(%a, 2, -3, 3)"));
  ExpectSame(with("%y: f32[2,4,7] = edge.aten.constant_pad_nd.default(%a, [1,2,0,1], 3.5)"));
  ExpectSame(with("%y: f32[2,9,4] = edge.aten.cat.default([%a,%x,%a], 1)"));
}

TEST_F(XnnpackTest, ImagesStayAsTheyAreThroughWhatDoesNotCare) {
  // One transpose at each border, and attributes of dimensions are those of NHWC.
  EXPECT_THAT(
      ExpectSame(Program(
          {"w: f32[4,3,1,1]", "v: f32[1,4,1,1]", "u: f32[6,8,1,1]"}, "%x: f32[1,3,6,5] user_input",
          "%c: f32[1,4,6,5] = edge.aten.convolution.default(%x, %w, none, [1,1], [0,0], [1,1], "
          "false, [0,0], 1)\n"
          "%r: f32[1,4,6,5] = edge.aten.relu.default(%c)\n"
          "%a: f32[1,4,6,5] = edge.aten.add.Tensor(%r, %v)\n"
          "%s: f32[1,4,5,5] = edge.aten.slice_copy.Tensor(%a, 2, 1)\n"
          "%p: f32[1,4,6,5] = edge.aten.constant_pad_nd.default(%s, [0,0,0,1])\n"
          "%j: f32[1,8,6,5] = edge.aten.cat.default([%p,%a], 1)\n"
          "%y: f32[1,6,6,5] = edge.aten.convolution.default(%j, %u, none, [1,1], [0,0], [1,1], "
          "false, [0,0], 1)")),
      ElementsAre("StaticTranspose", "Conv2d", "Add", "StaticSlice", "StaticConstantPad",
                  "Concatenate2", "Conv2d", "StaticTranspose"));
}

TEST_F(XnnpackTest, ImagesThatAreChannelsLastNeedNoTransposes) {
  EXPECT_THAT(
      ExpectSame(Program({"w: f32[4,3,1,1]"}, "%x: f32[s0,3,6,5]{strides=[90,1,15,3]} user_input",
                         "%y: f32[s0,4,6,5]{strides=[120,1,20,4]} = "
                         "edge.aten.convolution.default(%x, %w, none, [1,1], [0,0], [1,1], "
                         "false, [0,0], 1)",
                         "%y user_output", "s0: [1, 5]")),
      ElementsAre("Conv2d"));
  // Either order of one value.
  EXPECT_THAT(
      ExpectSame(Program({}, "%x: f32[1,3,6,5]{strides=[90,1,15,3]} user_input",
                         "%a: f32[1,3,6,5]{strides=[90,1,15,3]} = edge.aten.abs.default(%x)\n"
                         "%c: f32[1,3,6,5] = edge.dim_order_ops._to_dim_order_copy.default(%a, "
                         "dim_order=[0,1,2,3])\n"
                         "%y: f32[3,30] = edge.aten.view_copy.default(%a, [3,30])",
                         "%y user_output, %a user_output, %c user_output")),
      ElementsAre("Abs", "StaticTranspose", "StaticReshape", "StaticTranspose"));
}

TEST_F(XnnpackTest, ActivationsAreBoundsOfWhatTheyAloneRead) {
  const std::string linear =
      "%l: f32[3,7] = edge.aten.mm.default(%x, %w)\n"
      "%y: f32[3,7] = edge.aten.hardtanh.default(%l, 0, 6)";
  EXPECT_THAT(ExpectSame(Program({"w: f32[5,7]"}, "%x: f32[3,5] user_input", linear)),
              ElementsAre("FullyConnected"));
  EXPECT_THAT(ExpectSame(Program({"w: f32[5,7]"}, "%x: f32[3,5] user_input", linear,
                                 "%y user_output, %l user_output")),
              ElementsAre("FullyConnected", "Clamp"));
  EXPECT_THAT(
      ExpectSame(Program({"w: f32[5,7]"}, "%x: f32[3,5] user_input",
                         absl::StrCat(linear, "\n%z: f32[3,7] = edge.aten.relu.default(%y)"),
                         "%z user_output")),
      ElementsAre("FullyConnected", "Clamp"));
}

// --- Sizes that change ---

TEST_F(XnnpackTest, BatchesMayChange) {
  EXPECT_THAT(
      ExpectSame(Program({"w: f32[4,3,3,3]", "u: f32[6,16]"}, "%x: f32[s0,3,4,4] user_input",
                         "%n: symint(s0) = aten.sym_size.int(%x, 0)\n"
                         "%c: f32[s0,4,4,4] = edge.aten.convolution.default(%x, %w, none, [1,1], "
                         "[1,1], [1,1], false, [0,0], 1)\n"
                         "%p: f32[s0,4,2,2], %i: i64[s0,4,2,2] = "
                         "edge.aten.max_pool2d_with_indices.default(%c, [2,2], [2,2])\n"
                         "%v: f32[s0,16] = edge.aten.view_copy.default(%p, [%n,16])\n"
                         "%t: f32[16,6] = edge.aten.permute_copy.default(%u, [1,0])\n"
                         "%y: f32[s0,6] = edge.aten.mm.default(%v, %t)",
                         "%y user_output", "s0: [1, 5]")),
      ElementsAre("StaticTranspose", "Conv2d", "MaxPooling2d", "StaticTranspose", "StaticReshape",
                  "FullyConnected"));
}

TEST_F(XnnpackTest, SequencesMayChange) {
  ExpectSame(Program({"w: f32[4,4]", "b: f32[4]"}, "%x: f32[2,s0,4] user_input",
                     "%v: f32[2*s0,4] = edge.aten.view_copy.default(%x, [-1,4])\n"
                     "%m: f32[2*s0,4] = edge.aten.addmm.default(%b, %v, %w)\n"
                     "%h: f32[2,s0,4] = edge.aten.view_copy.default(%m, [2,-1,4])\n"
                     "%a: f32[2,s0,4] = edge.aten.add.Tensor(%h, %x)\n"
                     "%s: f32[2,s0,4] = edge.aten._softmax.default(%a, -1, false)\n"
                     "%y: f32[2,2*s0,4] = edge.aten.cat.default([%s,%x], 1)",
                     "%y user_output", "s0: [1, 5]"));
}

// --- Static quantization ---

// `step`: of the results, which the library of 2022 rounds in another way now and then.
exir::Closeness Within(double step) { return {.atol = step * 1.01, .rtol = 0}; }

std::string Quantized(const std::string& name, const std::string& from, const std::string& sizes,
                      const std::string& scale, int zero_point) {
  const std::string numbers = absl::StrCat(scale, ", ", zero_point, ", -128, 127, dtype:i8)\n");
  return absl::StrCat(
      "%", name, "_q: i8[", sizes, "] = edge.quantized_decomposed.quantize_per_tensor.default(%",
      from, ", ", numbers, "%", name, ": f32[", sizes,
      "] = edge.quantized_decomposed.dequantize_per_tensor.default(%", name, "_q, ", numbers);
}
std::string Channels(const std::string& name, const std::string& sizes) {
  return absl::StrCat("%", name, "_f: f32[", sizes,
                      "] = edge.quantized_decomposed.dequantize_per_channel.default(%", name,
                      ", %s", name, ", %z", name, ", 0, -127, 127, dtype:i8)\n");
}

TEST_F(XnnpackTest, QuantizedNetworksComputeOnInt8) {
  EXPECT_THAT(
      ExpectSame(
          Program(
              {"w: i8[8,3,3,3]", "sw: f32[8]", "zw: i64[8]", "b: f32[8]", "d: i8[8,1,3,3]",
               "sd: f32[8]", "zd: i64[8]", "l: i8[6,8]", "sl: f32[6]", "zl: i64[6]", "c: f32[6]"},
              "%x: f32[s0,3,4,4] user_input",
              absl::StrCat(
                  "%n: symint(s0) = aten.sym_size.int(%x, 0)\n", Channels("w", "8,3,3,3"),
                  Channels("d", "8,1,3,3"), Channels("l", "6,8"),
                  Quantized("q1", "x", "s0,3,4,4", "0.02", 3),
                  "%c1: f32[s0,8,4,4] = edge.aten.convolution.default(%q1, %w_f, %b, [1,1], "
                  "[1,1], [1,1], false, [0,0], 1)\n"
                  "%r1: f32[s0,8,4,4] = edge.aten.relu.default(%c1)\n",
                  Quantized("q2", "r1", "s0,8,4,4", "0.03", -128),
                  "%c2: f32[s0,8,4,4] = edge.aten.convolution.default(%q2, %d_f, none, [1,1], "
                  "[1,1], [1,1], false, [0,0], 8)\n",
                  Quantized("q3", "c2", "s0,8,4,4", "0.05", 0),
                  "%a: f32[s0,8,4,4] = edge.aten.add.Tensor(%q3, %q2)\n",
                  Quantized("q4", "a", "s0,8,4,4", "0.06", 1),
                  "%h: f32[s0,8,4,4] = edge.aten.hardtanh.default(%q4, 0, 6)\n",
                  Quantized("q5", "h", "s0,8,4,4", "0.06", 1),
                  "%p: f32[s0,8,2,2], %i: i64[s0,8,2,2] = "
                  "edge.aten.max_pool2d_with_indices.default(%q5, [2,2], [2,2])\n",
                  Quantized("q6", "p", "s0,8,2,2", "0.06", 1),
                  "%m: f32[s0,8,1,1] = edge.aten.mean.dim(%q6, [-1,-2], true)\n",
                  Quantized("q7", "m", "s0,8,1,1", "0.06", 1),
                  "%v: f32[s0,8] = edge.aten.view_copy.default(%q7, [%n,8])\n",
                  Quantized("q8", "v", "s0,8", "0.06", 1),
                  "%t: f32[8,6] = edge.aten.permute_copy.default(%l_f, [1,0])\n"
                  "%e: f32[s0,6] = edge.aten.addmm.default(%c, %q8, %t)\n",
                  Quantized("y", "e", "s0,6", "0.25", -3)),
              "%y user_output", "s0: [1, 5]"),
          Within(0.25)),
      ElementsAre("Convert", "StaticTranspose", "Conv2d", "DepthwiseConv2d", "Add", "Clamp",
                  "MaxPooling2d", "GlobalAvgPooling2d", "StaticTranspose", "StaticReshape",
                  "FullyConnected", "Convert"));
}

TEST_F(XnnpackTest, WhatIsNoNodeOfInt8IsBetweenConversions) {
  // Averages over windows; the image stays in its order between them. Halves of windows of one size.
  EXPECT_THAT(
      ExpectSame(Program({}, "%x: f32[1,3,4,6] user_input",
                         absl::StrCat(Quantized("q", "x", "1,3,4,6", "0.02", 3),
                                      "%a: f32[1,3,2,3] = edge.aten._adaptive_avg_pool2d.default("
                                      "%q, [2,3])\n",
                                      Quantized("y", "a", "1,3,2,3", "0.02", 3))),
                 Within(0.02)),
      ElementsAre("Convert", "StaticTranspose", "Convert", "AvgPooling2d", "Convert",
                  "StaticTranspose", "Convert"));
  // Another scale behind what only moves elements.
  EXPECT_THAT(
      ExpectSame(Program({}, "%x: f32[2,6] user_input",
                         absl::StrCat("%a: f32[2,6] = edge.aten.abs.default(%x)\n",
                                      Quantized("q", "a", "2,6", "0.02", 3),
                                      "%v: f32[3,4] = edge.aten.view_copy.default(%q, [3,4])\n",
                                      Quantized("y", "v", "3,4", "0.03", 3))),
                 Within(0.03)),
      ElementsAre("Abs", "Convert", "Convert", "StaticReshape", "Convert", "Convert"));
}

TEST_F(XnnpackTest, NumbersThatAreQuantizedTwiceInTheSameWayAreOnce) {
  EXPECT_THAT(ExpectSame(Program({}, "%x: f32[2,6] user_input",
                                 absl::StrCat("%a: f32[2,6] = edge.aten.abs.default(%x)\n",
                                              Quantized("q", "a", "2,6", "0.02", 3),
                                              Quantized("r", "q", "2,6", "0.02", 3),
                                              "%y: f32[2,6] = edge.aten.neg.default(%r)")),
                         Within(0.02)),
              ElementsAre("Abs", "Convert", "Convert", "Negate"));
}

TEST_F(XnnpackTest, WeightsOfInt8StayWithoutQuantizedInputs) {
  const exir::ExportedProgram program =
      Parse(Program({"w: i8[6,8]", "sw: f32[6]", "zw: i64[6]"}, "%x: f32[2,8] user_input",
                    absl::StrCat(Channels("w", "6,8"),
                                 "%t: f32[8,6] = edge.aten.permute_copy.default(%w_f, [1,0])\n"
                                 "%y: f32[2,6] = edge.aten.mm.default(%x, %t)")),
            *ops_);
  ASSERT_OK_AND_ASSIGN(const exir::PartitionResult result,
                       Aot().create_partitioner({})->Partition(program));
  EXPECT_TRUE(result.nodes.empty());
  std::vector<std::string> reasons;
  for (const auto& rejection : result.rejections) reasons.push_back(rejection.reason);
  EXPECT_THAT(reasons, ElementsAre("what reads it does not compute on int8",
                                   "what reads it does not compute on int8",
                                   "its weight is of int8, but not its input and its result"));
}

TEST_F(XnnpackTest, StepsStandForWhatIsPartOfThem) {
  const exir::ExportedProgram program =
      Parse(Program({"w: f32[3,3]"}, "%x: f32[2,3] user_input",
                    "%h: f32[2,3] = edge.aten.mm.default(%x, %w) handle=7\n"
                    "%y: f32[2,3] = edge.aten.relu.default(%h) handle=9"),
            *ops_);
  ASSERT_OK_AND_ASSIGN(const exir::ExportedProgram lowered, Lower(program));
  const exir::LoweredBackendModule& module = *lowered.lowered_modules[exir::ModuleId(0)];
  EXPECT_EQ(module.debug_handle_map, (exir::DebugHandleMap{{7, {7, 9}}}));
}

TEST_F(XnnpackTest, ValuesMayBeReturnedMoreThanOnce) {
  EXPECT_THAT(ExpectSame(Program({}, "%x: f32[3] user_input",
                                 "%y: f32[3] = edge.aten.abs.default(%x)\n"
                                 "%z: f32[3] = edge.dim_order_ops._clone_dim_order.default(%y)\n"
                                 "%n: f32[3] = edge.aten.neg.default(%y)",
                                 "%y user_output, %z user_output, %n user_output")),
              ElementsAre("Abs", "Negate", "Copy"));
}

TEST_F(XnnpackTest, SaysWhyNot) {
  const std::pair<std::string, std::string> cases[] = {
      {Program({}, "%x: f32[2,3] user_input", "%y: f32[2,3] = edge.aten.gelu.default(%x)"),
       "this XNNPACK has no Gelu"},
      {Program({}, "%x: f32[2,3] user_input", "%y: f32[2,3] = edge.aten.erf.default(%x)"),
       "operator aten.erf.default is not supported"},
      {Program({}, "%x: i64[2,3] user_input", "%y: i64[2,3] = edge.aten.abs.default(%x)"),
       "%y is i64[2,3], expected a tensor of float32"},
      {Program({}, "%x: f32[2,3]{strides=[1,2]} user_input",
               "%y: f32[2,3]{strides=[1,2]} = edge.aten.abs.default(%x)"),
       "%y is f32[2,3]{strides=[1,2]}, it is neither contiguous nor channels last"},
      {Program({}, "%x: f32[2,3] user_input", "%y: f32[2,3] = edge.aten.pow.Tensor_Scalar(%x, 3)"),
       "the exponent is not 2"},
      {Program({}, "%x: f32[2,3] user_input",
               "%y: f32[2,3] = edge.aten._softmax.default(%x, 0, false)"),
       "not over the last dimension"},
      {Program({}, "%x: f32[2,3] user_input, %z: f32[3,4] user_input",
               "%y: f32[2,4] = edge.aten.mm.default(%x, %z)"),
       "mat2 is no constant of float32"},
      {Program({}, "%x: f32[2,3] user_input, %z: f32[2,3] user_input",
               "%y: f32[2,3] = edge.aten.add.Tensor(%x, %z, alpha=2)"),
       "alpha is not 1"},
      {Program({}, "%x: f32[2*s0,3] user_input, %z: f32[6,3] user_input",
               "%y: f32[6,3] = edge.aten.add.Tensor(%x, %z)", "%y user_output", "s0: [2, 6]"),
       "at their largest, sizes [12,3] and [6,3] do not broadcast"},
      {Program({"w: f32[4,3,3]"}, "%x: f32[1,3,9] user_input",
               "%y: f32[1,4,7] = edge.aten.convolution.default(%x, %w, none, [1], [0], [1], "
               "false, [0], 1)"),
       "the input has rank 3"},
      {Program({}, "%x: f32[1,3,7,8] user_input",
               "%y: f32[1,3,4,4] = edge.aten.avg_pool2d.default(%x, [3,3], [2,2], [1,1])"),
       "padding is counted"},
      {Program({}, "%x: f32[2,3] user_input",
               "%y: f32[3,2] = edge.aten.permute_copy.default(%x, [1,0])"),
       "nothing that computes is connected with it"},
      {Program({}, "%x: f32[2,s0] user_input",
               "%y: f32[2,s0] = edge.aten._softmax.default(%x, -1, false)", "%y user_output",
               "s0: [1, 5]"),
       "the size of dimension 1 of %y is not static"},
      {Program({}, "%x: f32[2,s0] user_input", "%y: f32[2,s0] = edge.aten.abs.default(%x)",
               "%y user_output", "s0: [1, inf]"),
       "%y is f32[2,s0], a size has no upper bound"},
      {Program({}, "%x: f32[s1*s0] user_input",
               "%y: f32[s0,s1] = edge.aten.view_copy.default(%x, [-1,-1])", "%y user_output",
               "s0: [1, 5] s1: [1, 5]"),
       "more than one size of the result is dynamic"},
      {Program({}, "%x: f32[2,3] user_input",
               "%y: u8[2,3] = edge.quantized_decomposed.quantize_per_tensor.default(%x, 0.02, 3, "
               "0, 255, dtype:u8)"),
       "%y is u8[2,3], expected a tensor of int8"},
      {Program({}, "%x: f32[2,3] user_input",
               "%y: i8[2,3] = edge.quantized_decomposed.quantize_per_tensor.default(%x, 0.02, 3, "
               "-127, 127, dtype:i8)"),
       "its numbers are not from -128 to 127"},
      {Program({}, "%x: f32[1,3,5,4] user_input",
               "%y: f32[1,3,2,2] = edge.aten._adaptive_avg_pool2d.default(%x, [2,2])"),
       "its windows are not of one size, or of one element"},
      {Program({}, "%x: f32[2,3] user_input", "%y: f32[2,3] = edge.aten.clamp.default(%x, 2, 1)"),
       "the bounds are no range"},
  };
  for (const auto& [text, reason] : cases) {
    const exir::ExportedProgram program = Parse(text, *ops_);
    ASSERT_OK_AND_ASSIGN(const exir::PartitionResult result,
                         Aot().create_partitioner({})->Partition(program));
    EXPECT_TRUE(result.nodes.empty()) << text;
    ASSERT_EQ(result.rejections.size(), 1u) << text;
    EXPECT_EQ(result.rejections[0].reason, reason);
  }
}

TEST_F(XnnpackTest, TheTargetDecidesWhichNodesThereAre) {
  const exir::ExportedProgram program = Parse(
      Program({}, "%x: f32[2,3] user_input", "%y: f32[2,3] = edge.aten.gelu.default(%x)"), *ops_);
  ASSERT_OK_AND_ASSIGN(const exir::ExportedProgram lowered,
                       Lower(program, {{"target", "executorch-1.5"}}));
  EXPECT_EQ(lowered.lowered_modules.size(), 1u);
  ASSERT_OK_AND_ASSIGN(const exir::ExportedProgram local, Lower(program, {{"target", "local"}}));
  EXPECT_EQ(local.lowered_modules.size(), 0u);
  EXPECT_THAT(Lower(program, {{"target", "x"}}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("target=x, expected local")));
  EXPECT_THAT(Lower(program, {{"level", "3"}}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("unknown compile spec 'level'; there is 'target'")));
}

TEST_F(XnnpackTest, ConstantsAreNamedDataOnce) {
  const exir::ExportedProgram program =
      Parse(Program({"w: f32[3,3]"}, "%x: f32[2,3] user_input",
                    "%h: f32[2,3] = edge.aten.mm.default(%x, %w)\n"
                    "%y: f32[2,3] = edge.aten.mm.default(%h, %w)"),
            *ops_);
  ASSERT_OK_AND_ASSIGN(const exir::ExportedProgram lowered, Lower(program));
  const exir::LoweredBackendModule& module = *lowered.lowered_modules[exir::ModuleId(0)];
  ASSERT_EQ(module.named_data.program_data.size(), 1u);
  const auto& [key, entry] = *module.named_data.program_data.begin();
  EXPECT_EQ(key.size(), 64u);
  EXPECT_EQ(entry.alignment, 128u);
}

// --- Executing ---

TEST_F(XnnpackTest, NodesAreTakenFromTheBudgetOfTheCall) {
  const exir::ExportedProgram program =
      Parse(Program({"w: f32[64,64]"}, "%x: f32[8,64] user_input",
                    "%y: f32[8,64] = edge.aten.mm.default(%x, %w)"),
            *ops_);
  ASSERT_OK_AND_ASSIGN(exir::ExportedProgram lowered, Lower(program));
  exir::MethodPrograms methods;
  methods.emplace_back("forward", std::move(lowered));
  ASSERT_OK_AND_ASSIGN(const exir::ProgramImage image, exir::EmitProgram(methods));
  ASSERT_OK_AND_ASSIGN(const belay::Program file, exir::OpenImage(image));
  ASSERT_OK_AND_ASSIGN(Method method, Method::Load(file, "forward", kernels_, registry_));
  std::vector<float> x(8 * 64);
  ASSERT_OK(method.SetInput(0, TensorView::Contiguous(DType::kFloat32, Sizes({8, 64}), x.data())));
  ExecuteOptions options;
  options.executed_work = 8 * 64 * 64 - 1;
  EXPECT_EQ(method.Execute(options).code(), absl::StatusCode::kResourceExhausted);
  options.executed_work = 1 << 20;
  EXPECT_OK(method.Execute(options));
}

}  // namespace
}  // namespace belay::xnnpack
