#include "backends/cpu/aot/delegate_cost.h"

#include <cstdint>
#include <initializer_list>

#include "gtest/gtest.h"

namespace belay::cpu {
namespace {

// Adds a float32 tensor of these sizes, and returns its index.
uint32_t AddTensor(schema::Method& method, std::initializer_list<int64_t> sizes) {
  schema::Tensor* tensor = method.add_values()->mutable_tensor();
  tensor->set_dtype(static_cast<uint32_t>(DType::kFloat32));
  for (int64_t size : sizes) tensor->add_sizes(size);
  return static_cast<uint32_t>(method.values_size() - 1);
}

TEST(CostOf, CountsCallsAndBytesOfGenericKernels) {
  schema::Program program;
  schema::Method& method = *program.add_methods();
  method.set_arena_bytes(320);
  for (const char* op : {"belay_cpu.linear.default", "aten.relu.default", "aten.cat.default"}) {
    method.add_operators(op);
  }
  const uint32_t a = AddTensor(method, {2, 3}), b = AddTensor(method, {4, 3});
  schema::List* list = method.add_values()->mutable_list();
  list->add_elements(a);
  list->add_elements(b);
  const auto call = [&](uint32_t op, std::initializer_list<uint32_t> arguments, uint32_t output) {
    schema::KernelCall* kernel = method.add_instructions()->mutable_kernel();
    kernel->set_operator_(op);
    for (uint32_t argument : arguments) kernel->add_arguments(argument);
    kernel->add_outputs(output);
  };
  call(0, {a}, b);
  call(1, {a}, a);
  call(1, {a}, a);
  call(2, {2}, AddTensor(method, {6, 3}));
  method.add_instructions()->mutable_jump();

  const exir::DelegateCost cost = CostOf(program, "cpu");
  EXPECT_EQ(cost.memory_bytes, 320u);
  EXPECT_EQ(cost.kernel_calls, 4u);
  ASSERT_EQ(cost.generic.size(), 2u);
  EXPECT_EQ(cost.generic[0].op, "aten.cat.default");
  EXPECT_EQ(cost.generic[0].calls, 1u);
  EXPECT_EQ(cost.generic[0].bytes, 4 * (18 + 18));
  EXPECT_EQ(cost.generic[1].op, "aten.relu.default");
  EXPECT_EQ(cost.generic[1].calls, 2u);
  EXPECT_EQ(cost.generic[1].bytes, 4 * 4 * 6);
}

}  // namespace
}  // namespace belay::cpu
