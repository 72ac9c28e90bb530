#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "fuzz/corpus/seeds.h"
#include "runtime/core/str_cat.h"
#include "runtime/executor/testing/program_builder.h"
#include "runtime/executor/testing/sample_program.h"
#include "tools/mutate/mutator.h"

namespace belay::fuzz {
namespace {

constexpr DType kF32 = DType::kFloat32;

// Returns the sample with a valid blob for its backend.
std::string Sample() {
  std::string file = SampleProgram().Serialize();
  file.replace(file.rfind("blob"), 4, "add1");
  return file;
}

std::string Empty() { return TestProgram().Serialize(); }

// Counts to three, adding a tensor each time.
std::string Loop(bool endless) {
  TestProgram program;
  TestMethod method = program.AddMethod("forward");
  const uint32_t x = method.Input("x", kF32, {2, 3});
  const uint32_t i = method.Slot(schema::ScalarSlot::INT);
  const uint32_t more = method.Slot(schema::ScalarSlot::BOOL);
  const uint32_t one = method.Int(1), three = method.Int(3);
  const uint32_t sum = method.State("sum", kF32, {2, 3});
  const uint32_t next = method.Arena(kF32, {2, 3});
  const uint32_t start = method.Call("test.add.Tensor", {sum, x}, {next});
  method.Move(next, sum);
  const uint32_t j = method.Slot(schema::ScalarSlot::INT);
  method.Call("test.add_int.default", {i, one}, {j});
  method.Move(j, i);
  method.Call("test.less.default", {i, three}, {more});
  const uint32_t leave = method.JumpIfFalse(more);
  method.Jump(start);
  method.LandHere(leave);
  if (endless) method.Jump(start);
  method.Output(sum);
  return program.Serialize();
}

std::string Lists() {
  TestProgram program;
  TestMethod method = program.AddMethod("forward");
  const uint32_t x = method.InputInOrder("x", kF32, {2, 3}, {1, 0});
  const uint32_t a = method.Arena(kF32, {1, 3}), b = method.ArenaInOrder(kF32, {1, 3}, {1, 0});
  const uint32_t list = method.List({a, b});
  method.Call("test.split.default", {x}, {list});
  const uint32_t scratch = method.Arena(kF32, {1, 3});
  method.Call("test.scratch.default", {a}, {scratch});
  method.Output(scratch);
  method.Output(b);
  return program.Serialize();
}

std::string TwoMethods() {
  TestProgram program;
  const uint32_t weight = program.AddConstant<float>({1, 2, 3});
  for (const char* name : {"decode", "prefill"}) {
    TestMethod method = program.AddMethod(name);
    const uint32_t w = method.Constant(weight, kF32, {3});
    const uint32_t y = method.Arena(kF32, {3});
    method.Call("test.add.Tensor", {w, w}, {y});
    method.Output(y);
  }
  program.AddDebugInfo([] {
    schema::DebugInfo debug;
    debug.add_methods()->add_instructions()->set_node("add");
    return debug;
  }());
  return program.Serialize();
}

// Two banks with a tensor in each.
std::string Banks() {
  TestProgram program;
  TestMethod method = program.AddMethod("forward");
  const uint32_t x = method.Input("x", kF32, {2, 3});
  const uint32_t sum = method.Arena(kF32, {2, 3}), result = method.Arena(kF32, {2, 3});
  method.Call("test.add.Tensor", {x, x}, {sum});
  method.Call("test.add.Tensor", {sum, x}, {result});
  method.Output(result);
  method.Bank("fast", 64);
  method.Bank("slow", 64, 256);
  return program.Serialize();
}

// Programs of standard operators, for all kernels and backends.

std::string Mlp() {
  TestProgram program;
  const uint32_t weight = program.AddConstant<float>({1, -1, 0.5f, 2, 0.25f, -2});
  const uint32_t bias = program.AddConstant<float>({0.5f, -0.5f});
  TestMethod method = program.AddMethod("forward");
  const uint32_t x =
      method.Input("x", kF32, {4, 3}, {{.dim = 0, .min = 1, .max = 4, .symbol = "s0"}});
  const uint32_t w = method.Constant(weight, kF32, {3, 2}), b = method.Constant(bias, kF32, {2});
  const uint32_t one = method.Int(1), minus_one = method.Int(-1), no = method.Bool(false);
  const uint32_t h = method.Arena(kF32, {4, 2}, 1), r = method.Arena(kF32, {4, 2}, 1);
  const uint32_t y = method.Arena(kF32, {4, 2}, 1);
  method.Call("aten.addmm.default", {b, x, w, one, one}, {h});
  method.Call("aten.relu.default", {h}, {r});
  method.Call("aten._softmax.default", {r, minus_one, no}, {y});
  method.Output(y);
  return program.Serialize();
}

std::string Convolution() {
  TestProgram program;
  const uint32_t weight = program.AddConstant<float>(std::vector<float>(2 * 1 * 3 * 3, 0.5f));
  const uint32_t bias = program.AddConstant<float>({0, 1});
  TestMethod method = program.AddMethod("forward");
  const uint32_t x = method.Input("x", kF32, {1, 1, 5, 5});
  const uint32_t w = method.Constant(weight, kF32, {2, 1, 3, 3}),
                 b = method.Constant(bias, kF32, {2});
  const uint32_t one = method.Int(1), zero = method.Int(0), two = method.Int(2);
  const uint32_t no = method.Bool(false);
  const uint32_t ones = method.List({one, one}), zeros = method.List({zero, zero});
  const uint32_t twos = method.List({two, two});
  const uint32_t h = method.Arena(kF32, {1, 2, 5, 5}), r = method.Arena(kF32, {1, 2, 5, 5});
  const uint32_t y = method.Arena(kF32, {1, 2, 2, 2});
  const uint32_t indices = method.Arena(DType::kInt64, {1, 2, 2, 2});
  method.Call("aten.convolution.default", {x, w, b, ones, ones, ones, no, zeros, one}, {h});
  method.Call("aten.relu.default", {h}, {r});
  method.Call("aten.max_pool2d_with_indices.default", {r, twos, twos, zeros, ones, no},
              {y, indices});
  method.Output(y);
  return program.Serialize();
}

std::string Indices() {
  TestProgram program;
  const uint32_t table = program.AddConstant<float>({1, 2, 3, 4, 5, 6, 7, 8});
  TestMethod method = program.AddMethod("forward");
  const uint32_t at = method.Input("at", DType::kInt64, {3});
  const uint32_t w = method.Constant(table, kF32, {4, 2});
  const uint32_t minus_one = method.Int(-1), zero = method.Int(0), no = method.Bool(false);
  const uint32_t rows = method.Arena(kF32, {3, 2}), again = method.Arena(kF32, {3, 2});
  const uint32_t both = method.Arena(kF32, {6, 2});
  const uint32_t list = method.List({rows, again}), where = method.List({at});
  method.Call("aten.embedding.default", {w, at, minus_one, no, no}, {rows});
  method.Call("aten.index.Tensor", {w, where}, {again});
  method.Call("aten.cat.default", {list, zero}, {both});
  method.Output(both);
  return program.Serialize();
}

std::string Norms() {
  TestProgram program;
  TestMethod method = program.AddMethod("forward");
  const uint32_t x = method.Input("x", kF32, {2, 4});
  const uint32_t four = method.Int(4), one = method.Int(1), yes = method.Bool(true);
  const uint32_t shape = method.List({four}), dims = method.List({one});
  const uint32_t none = method.None(), eps = method.Double(1e-5);
  const uint32_t y = method.Arena(kF32, {2, 4}), mean = method.Arena(kF32, {2, 1});
  const uint32_t rstd = method.Arena(kF32, {2, 1}), sums = method.Arena(kF32, {2, 1});
  const uint32_t largest = method.Arena(kF32, {2}), at = method.Arena(DType::kInt64, {2});
  const uint32_t no = method.Bool(false);
  method.Call("aten.native_layer_norm.default", {x, shape, none, none, eps}, {y, mean, rstd});
  method.Call("aten.sum.dim_IntList", {y, dims, yes, none}, {sums});
  method.Call("aten.max.dim", {y, one, no}, {largest, at});
  for (const uint32_t output : {sums, largest, at}) method.Output(output);
  return program.Serialize();
}

std::string DynamicSizes() {
  TestProgram program;
  TestMethod method = program.AddMethod("forward");
  const uint32_t x = method.Input("x", kF32, {8, 2}, {{.dim = 0, .min = 0, .max = 8}});
  const uint32_t zero = method.Int(0), two = method.Int(2), half = method.Double(0.5);
  const uint32_t n = method.Slot(schema::ScalarSlot::INT);
  const uint32_t none = method.None(), shape = method.List({n, two});
  const uint32_t filled = method.Arena(kF32, {8, 2}, 1),
                 where = method.Arena(DType::kInt64, {16, 2}, 1);
  method.Call("aten.sym_size.int", {x, zero}, {n});
  method.Call("aten.full.default", {shape, half, none, none, none, none}, {filled});
  method.Call("aten.nonzero.default", {x}, {where});
  method.Output(filled);
  method.Output(where);
  method.Output(n);
  return program.Serialize();
}

std::string DemoDelegate() {
  TestProgram program;
  const uint32_t blob = program.AddSegment(
      schema::Segment::DELEGATE,
      "1version:0#op:demo::aten.sin.default, numel:6, dtype:torch.float32<debug_handle>1#");
  TestMethod method = program.AddMethod("forward");
  const uint32_t x = method.Input("x", kF32, {2, 3}), y = method.Arena(kF32, {2, 3});
  method.Delegate("BackendWithCompilerDemo", blob, {x}, {y});
  method.Output(y);
  return program.Serialize();
}

// --- Companion files ---

std::string Companion() {
  TestProgram program;
  schema::Constant* constant = program.metadata().add_constants();
  constant->set_segment(
      program.AddSegment(schema::Segment::CONSTANTS, std::string(24, '\1'), "weights.data"));
  constant->set_size(24);
  program.AddSegment(schema::Segment::NAMED_DATA, "data", "weights.data");
  return program.SerializeCompanion("weights.data");
}

// Tensors f32[2,3] with these names.
std::string ParameterFile(const std::vector<std::string>& names) {
  TestProgram program;
  for (const std::string& name : names) {
    program.AddNamedTensor(name, std::string(24, '\2'), DType::kFloat32, {2, 3});
  }
  return program.Serialize();
}

// Adds the first mutations of some files, at least one of each kind.
void AddMutations(Seeds& seeds, const std::string& corpus, const std::vector<std::string>& files,
                  uint64_t seed, uint64_t count) {
  const mutate::Mutator mutator(files);
  for (uint64_t i = 0; i < count; ++i) {
    seeds.push_back({corpus, absl::StrCat("mutation_", i), mutator.Mutate(seed, i).bytes});
  }
}

}  // namespace

void AddProgramSeeds(Seeds& seeds) {
  const auto add = [&](const char* corpus, std::string name, std::string bytes) {
    seeds.push_back({corpus, std::move(name), std::move(bytes)});
  };
  add("program_file", "sample", Sample());
  add("program_file", "empty", Empty());
  add("program_file", "loop", Loop(false));
  add("program_file", "endless_loop", Loop(true));
  add("program_file", "lists", Lists());
  add("program_file", "two_methods", TwoMethods());
  add("program_file", "banks", Banks());
  AddMutations(seeds, "program_file", {Sample(), Lists(), TwoMethods()}, 1, 24);

  const std::vector<std::pair<const char*, std::string>> real = {
      {"mlp", Mlp()},     {"convolution", Convolution()}, {"indices", Indices()},
      {"norms", Norms()}, {"sizes", DynamicSizes()},      {"demo_delegate", DemoDelegate()}};
  std::vector<std::string> files;
  for (const auto& [name, bytes] : real) {
    add("mutated_program", name, bytes);
    files.push_back(bytes);
  }
  AddMutations(seeds, "mutated_program", files, 2, 24);

  const std::string companion = Companion();
  add("companion_data", "two_segments", companion);
  add("companion_data", "truncated", companion.substr(0, companion.size() - 1));
  add("companion_data", "header", companion.substr(0, 64));
  add("companion_data", "short", companion.substr(0, 63));
  for (const size_t at : {0, 8, 12, 16, 24, 32, 40, 56, 60, 64, 128}) {
    std::string changed = companion;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    add("companion_data", absl::StrCat("changed_", at), changed);
  }

  const std::string parameters = ParameterFile({"v", "w"});
  add("parameter_file", "two_tensors", parameters);
  add("parameter_file", "one_tensor", ParameterFile({"w"}));
  add("parameter_file", "unknown_tensor", ParameterFile({"u"}));
  add("parameter_file", "with_methods", TwoMethods());
  add("parameter_file", "packed_name", "f32/2/3/n/w");
  add("parameter_file", "packed_large", "vnni2/4611686018427387904/4/t/w");
  AddMutations(seeds, "parameter_file", {parameters}, 3, 24);
}

}  // namespace belay::fuzz
