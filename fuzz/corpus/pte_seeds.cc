#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backends/xnnpack/testing/payload_builder.h"
#include "executorch/format/bundled_program.h"
#include "executorch/reader/testing/pte_builder.h"
#include "executorch/writer/bundled_program_writer.h"
#include "fuzz/corpus/seeds.h"
#include "runtime/core/bytes.h"
#include "runtime/core/tensor_view.h"

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

// Computes row by row, as `map` is exported; with buffers and views.
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

// With the source location of each instruction, one of them empty.
std::string Traced() {
  PteBuilder pte;
  const int32_t x = pte.Tensor({2, 3}), y = pte.Tensor({2, 3});
  pte.Input(x);
  for (const std::vector<std::pair<const char*, int>>& frames :
       std::vector<std::vector<std::pair<const char*, int>>>{
           {{"main.py", 3}, {"model.py", 12}}, {}, {{"layers.py", 7}}}) {
    auto list = std::make_unique<pte::FrameListT>();
    for (const auto& [file, line] : frames) {
      auto frame = std::make_unique<pte::FrameT>();
      frame->filename = file;
      frame->lineno = line;
      frame->name = "forward";
      frame->context = "y = relu(x)";
      list->items.push_back(std::move(frame));
    }
    pte.method().chains[0]->stacktrace.push_back(std::move(list));
  }
  pte.Call("aten::relu", "out", {x, y, y});
  pte.Call("aten::neg", "out", {y, x, x});
  pte.JumpFalse(pte.Bool(true), 0);
  pte.Output(x);
  return pte.Serialize();
}

// Two XNNPACK delegates, which share the method's scratch memory, with a kernel between them; up to
// two rows.
std::string XnnpackDelegates(bool quantized, bool dynamic) {
  PteBuilder pte;
  const int32_t x = pte.Tensor({2, 3}), a = pte.Tensor({2, 3}), b = pte.Tensor({2, 3});
  const int32_t y = pte.Tensor({2, 3});
  if (dynamic) {
    for (const int32_t value : {x, a, b, y}) {
      pte.tensor(value).shape_dynamism = pte::TensorShapeDynamism::DYNAMIC_BOUND;
    }
  }
  xnnpack::PayloadBuilder payload;
  uint32_t last = payload.Input(0, {2, 3});
  const uint32_t result = payload.Output(1, {2, 3});
  if (quantized) {
    const uint32_t q = payload.Tensor({2, 3}), sum = payload.Tensor({2, 3});
    payload.Quantize(q, xnnpack::Datatype::QINT8, 0.25, 1);
    payload.Quantize(sum, xnnpack::Datatype::QINT8, 0.5, 1);
    payload.Unary(xnnpack::NodeType::Convert, last, q);
    payload.Binary(xnnpack::NodeType::Add, q, q, sum);
    payload.Unary(xnnpack::NodeType::Convert, sum, result);
  } else {
    for (int i = 0; i < 3; ++i) {
      const uint32_t next = i == 2 ? result : payload.Tensor({2, 3});
      payload.Unary(xnnpack::NodeType::Sigmoid, last, next);
      last = next;
    }
  }
  pte.Input(x);
  pte.Delegate("XnnpackBackend", payload.Serialize(), {x, a});
  pte.Call("aten::neg", "out", {a, b, b});
  pte.Delegate("XnnpackBackend", payload.Serialize(), {b, y});
  pte.Output(y);
  return pte.Serialize();
}

// A program with test cases: tensors of two dtypes, scalars.
std::string Bundled() {
  static float elements[] = {1, 2, 3, 4, 5, 6};
  static int64_t number = 7;
  const TensorView x = TensorView::Contiguous(DType::kFloat32, {2, 3}, elements),
                   n = TensorView::Contiguous(DType::kInt64, {}, &number);
  const std::string program = Arithmetic();
  const std::vector<pte::BundledMethod> methods = {
      {"forward",
       {{{EValue(x)}, {EValue(x), EValue(n)}},
        {{EValue(n), EValue(int64_t{3}), EValue(true), EValue(0.5)}, {}}}},
      {"other", {}}};
  absl::StatusOr<std::string> file = pte::SerializeBundledProgram(AsBytes(program), methods);
  return file.ok() ? *std::move(file) : "";
}

}  // namespace

void AddPteSeeds(Seeds& seeds) {
  seeds.push_back({"pte_program", "arithmetic", Arithmetic()});
  seeds.push_back({"pte_program", "arguments", Arguments()});
  seeds.push_back({"pte_program", "branch", Branch()});
  seeds.push_back({"pte_program", "loop", Loop()});
  seeds.push_back({"pte_program", "delegate", Delegate()});
  seeds.push_back({"pte_program", "two_methods", TwoMethods()});
  seeds.push_back({"pte_program", "traced", Traced()});
  seeds.push_back({"pte_program", "xnnpack", XnnpackDelegates(false, false)});
  seeds.push_back({"pte_program", "xnnpack_dynamic", XnnpackDelegates(false, true)});
  seeds.push_back({"pte_program", "xnnpack_int8", XnnpackDelegates(true, false)});
  seeds.push_back({"pte_program", "xnnpack_int8_dynamic", XnnpackDelegates(true, true)});
  seeds.push_back({"ptd_file", "tensor", pte::DataFileOf({{"w", {1, 2}}})});
  seeds.push_back({"ptd_file", "tensors", pte::DataFileOf({{"a", {1}}, {"w", {2, 3}}})});
  seeds.push_back({"ptd_file", "other_sizes", pte::DataFileOf({{"w", {1, 2, 3}}})});
  seeds.push_back({"ptd_file", "empty", pte::DataFileOf({})});
  seeds.push_back({"bpte_file", "two_methods", Bundled()});
}

}  // namespace belay::fuzz
