#include "runtime/executor/testing/sample_program.h"

#include <vector>

namespace belay {

TestProgram SampleProgram(SampleIndices* indices) {
  SampleIndices own;
  SampleIndices& v = indices == nullptr ? own : *indices;
  constexpr DType kF32 = DType::kFloat32;
  TestProgram program;
  const uint32_t weight = program.AddConstant<float>({1, 2, 3, 4, 5, 6});
  const uint32_t initial = program.AddConstant<float>({10, 20});
  const uint32_t blob = program.AddSegment(schema::Segment::DELEGATE, "blob");
  program.AddNamedData("lookup", "named bytes");

  TestMethod method = program.AddMethod("forward");
  v.x = method.Input("x", kF32, {4, 3}, {{.dim = 0, .min = 1, .max = 4, .symbol = "s0"}});
  v.y = method.Input("y", kF32, {4, 3}, {{.dim = 0, .min = 1, .max = 4, .symbol = "s0"}});
  v.n = method.ScalarInput("n", schema::ScalarSlot::INT, {{.dim = 0, .min = 0, .max = 10}});
  v.m = method.MutatedInput("m", kF32, {2, 3});
  v.half = method.Double(0.5);
  method.ConstantInput("half", v.half);
  v.none = method.None();
  method.ConstantInput("none", v.none);
  v.weight = method.Constant(weight, kF32, {2, 3});
  v.state = method.State("counter", kF32, {2}, initial + 1);
  v.other_state = method.State("cache", kF32, {4});
  v.sum = method.Arena(kF32, {4, 3}, /*dynamic_dims=*/1);
  v.copy = method.Arena(kF32, {4, 3}, /*dynamic_dims=*/1);
  v.total = method.Arena(kF32, {2, 3});
  v.list = method.List({v.sum, v.copy});
  v.flag = method.Slot(schema::ScalarSlot::BOOL);
  v.three = method.Int(3);
  v.bool_tensor = method.Arena(DType::kBool, {1});
  v.text = method.String("mean");
  const auto add_literal = [&](auto set) {
    set(*method.proto().add_values());
    return static_cast<uint32_t>(method.proto().values_size() - 1);
  };
  v.dtype = add_literal([](schema::Value& value) { value.set_dtype(7); });
  v.memory_format = add_literal([](schema::Value& value) { value.set_memory_format(1); });
  v.complex = add_literal([](schema::Value& value) { value.mutable_complex()->set_imag(1); });

  v.add = method.Call("test.add.Tensor", {v.x, v.y}, {v.sum});
  v.less = method.Call("test.less.default", {v.n, v.three}, {v.flag});
  v.branch = method.JumpIfFalse(v.flag);
  v.move = method.Move(v.sum, v.copy);
  method.LandHere(v.branch);
  v.delegate = method.Delegate("fake", blob, {v.weight}, {v.total});
  schema::CompileSpec* spec = method.proto().mutable_delegates(0)->add_compile_specs();
  spec->set_key("mode");
  spec->set_value("fast");
  v.in_place = method.Call("test.add_.Tensor", {v.m, v.weight}, {v.m});
  v.jump = method.Jump(0);
  method.LandHere(v.jump);
  method.Output(v.sum);
  method.Output(v.total);
  method.Output(v.n);

  program.AddMethod("other");

  schema::DebugInfo debug;
  schema::MethodDebugInfo* method_debug = debug.add_methods();
  for (int i = 0; i < method.proto().instructions_size(); ++i) method_debug->add_instructions();
  method_debug->mutable_instructions(0)->set_node("add_1");
  method_debug->mutable_instructions(0)->set_source("model.py:12");
  program.AddDebugInfo(debug);
  return program;
}

}  // namespace belay
