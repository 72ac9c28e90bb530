#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "executorch/reader/testing/pte_builder.h"
#include "fuzz/corpus/seeds.h"

namespace belay::fuzz {
namespace {

using pte::PteBuilder;

std::string Arithmetic() {
  PteBuilder pte;
  const int32_t x = pte.Tensor({2, 3}), y = pte.Tensor({2, 3}), z = pte.Tensor({2, 4});
  const int32_t w = pte.Constant({3, 4}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  const int32_t half = pte.Double(0.5), one = pte.Int(1);
  pte.Input(x);
  pte.Call("aten::relu", "out", {x, y, y});
  pte.Call("aten::add", "Scalar_out", {y, half, one, y, y});
  pte.Call("aten::mm", "out", {y, w, z, z});
  pte.Output(z);
  return pte.Serialize();
}

// Lists, dtypes, strings, values without memory.
std::string Arguments() {
  PteBuilder pte;
  const int32_t x = pte.Unplanned({2, 3}), i = pte.Unplanned({2}, pte::kLongType);
  const int32_t joined = pte.Tensor({4, 3}), picked = pte.Tensor({2, 2}), mean = pte.Tensor({2});
  const int32_t gelu = pte.Unplanned({2}), none = pte.Null(), zero = pte.Int(0), one = pte.Int(1);
  pte.Input(x);
  pte.Input(i);
  pte.Input(one);
  pte.Call("aten::cat", "out", {pte.TensorList({x, x}), zero, joined, joined});
  pte.Call("aten::index", "Tensor_out", {x, pte.OptionalTensorList({-1, i}), picked, picked});
  pte.Call("aten::mean", "out", {x, pte.IntList({one}), pte.Bool(false), none, mean, mean});
  pte.Call("aten::gelu", "out", {mean, pte.String("tanh"), gelu, gelu});
  for (const int32_t value : {joined, picked, gelu}) pte.Output(value);
  return pte.Serialize();
}

std::string Branch() {
  PteBuilder pte;
  const int32_t condition = pte.Tensor({}, pte::kBoolType), x = pte.Tensor({4});
  const int32_t out = pte.Tensor({4}), a = pte.Tensor({4}), b = pte.Tensor({4});
  const int32_t never = pte.Bool(false);
  pte.Input(condition);
  pte.Input(x);
  pte.JumpFalse(condition, 4);
  pte.Call("aten::neg", "out", {x, a, a});
  pte.Move(a, out);
  pte.JumpFalse(never, 6);
  pte.Call("aten::abs", "out", {x, b, b});
  pte.Move(b, out);
  pte.Free(a);
  pte.Output(out);
  return pte.Serialize();
}

// Row by row, as `map` is exported; with buffers and views.
std::string Loop() {
  PteBuilder pte;
  const int32_t x = pte.Tensor({3, 2}), out = pte.Tensor({3, 2}), row = pte.Tensor({2});
  const int32_t n = pte.Int(0), i = pte.Int(0), zero = pte.Int(0), one = pte.Int(1);
  const int32_t done = pte.Bool(false), total = pte.Buffer({2}, {1, 2});
  const int32_t next = pte.Tensor({2}), view = pte.Unplanned({6});
  for (const int32_t value : {x, out}) {
    pte.tensor(value).shape_dynamism = pte::TensorShapeDynamism::DYNAMIC_BOUND;
  }
  pte.tensor(view).shape_dynamism = pte::TensorShapeDynamism::DYNAMIC_BOUND;
  pte.Input(x);
  pte.Call("aten::sym_size", "int", {x, zero, n});
  const int32_t start = pte.next_instruction();
  pte.Call("aten::select_copy", "int_out", {x, zero, i, row, row});
  pte.Call("executorch_prim::et_copy_index", "tensor", {out, row, i});
  pte.Call("aten::add", "out", {total, row, one, next, next});
  pte.Call("aten::copy_", "", {total, next, done, total});
  pte.Call("executorch_prim::add", "Scalar", {i, one, i});
  pte.Call("executorch_prim::eq", "Scalar", {i, n, done});
  pte.JumpFalse(done, start);
  pte.Call("executorch_prim::sub", "Scalar", {i, i, i});
  pte.Call("executorch_prim::et_view", "default", {out, pte.IntList({pte.Int(-1)}), view});
  for (const int32_t value : {view, total, n}) pte.Output(value);
  return pte.Serialize();
}

std::string Delegate() {
  PteBuilder pte;
  const int32_t x = pte.Tensor({2}), y = pte.Tensor({2});
  pte.Input(x);
  pte.Delegate("demo", "a blob", {x, y});
  auto spec = std::make_unique<pte::CompileSpecT>();
  spec->key = "level";
  spec->value = {1, 2};
  pte.method().delegates[0]->compile_specs.push_back(std::move(spec));
  pte.AddNamedData("weights", "1234");
  pte.Output(y);
  return pte.Serialize();
}

std::string TwoMethods() {
  PteBuilder pte;
  pte.Output(pte.Int(7));
  auto second = std::make_unique<pte::ExecutionPlanT>(*pte.program().execution_plan[0]);
  second->name = "other";
  pte.program().execution_plan.push_back(std::move(second));
  return pte.Serialize();
}

}  // namespace

void AddPteSeeds(Seeds& seeds) {
  seeds.push_back({"pte_program", "arithmetic", Arithmetic()});
  seeds.push_back({"pte_program", "arguments", Arguments()});
  seeds.push_back({"pte_program", "branch", Branch()});
  seeds.push_back({"pte_program", "loop", Loop()});
  seeds.push_back({"pte_program", "delegate", Delegate()});
  seeds.push_back({"pte_program", "two_methods", TwoMethods()});
  seeds.push_back({"ptd_file", "tensor", pte::DataFileOf({{"w", {1, 2}}})});
  seeds.push_back({"ptd_file", "tensors", pte::DataFileOf({{"a", {1}}, {"w", {2, 3}}})});
  seeds.push_back({"ptd_file", "other_sizes", pte::DataFileOf({{"w", {1, 2, 3}}})});
  seeds.push_back({"ptd_file", "empty", pte::DataFileOf({})});
}

}  // namespace belay::fuzz
