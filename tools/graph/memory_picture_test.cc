#include "tools/graph/memory_picture.h"

#include "gtest/gtest.h"
#include "runtime/core/dtype.h"

namespace belay::tools {
namespace {

using nlohmann::json;

void AddTensor(schema::Method& method, int64_t elements, uint64_t offset) {
  schema::Tensor* tensor = method.add_values()->mutable_tensor();
  tensor->set_dtype(static_cast<uint32_t>(DType::kFloat32));
  tensor->add_sizes(elements);
  tensor->set_arena_offset(offset);
}

// Values: the input 0 (external), 1 = f(0), 2 = f(1), 3 = f(2), which is the result.
schema::Method Chain() {
  schema::Method method;
  AddTensor(method, 4, 0);
  method.mutable_values(0)->mutable_tensor()->mutable_external();
  AddTensor(method, 16, 0);
  AddTensor(method, 8, 64);
  AddTensor(method, 4, 0);
  method.add_operators("aten.relu.default");
  method.add_inputs()->set_value(0);
  for (uint32_t i = 0; i < 3; ++i) {
    schema::KernelCall* call = method.add_instructions()->mutable_kernel();
    call->add_arguments(i);
    call->add_outputs(i + 1);
  }
  method.add_outputs(3);
  method.set_arena_bytes(128);
  return method;
}

TEST(MemoryPictureTest, TensorsLastFromFirstToLastUse) {
  schema::MethodDebugInfo debug;
  for (const char* node : {"a", "b", ""}) debug.add_instructions()->set_node(node);
  const json picture = MemoryPicture(Chain(), &debug);
  EXPECT_EQ(picture["arena_bytes"], 128);
  EXPECT_EQ(picture["instructions"], json::array({"a", "b", "instruction 2"}));
  EXPECT_EQ(picture["tensors"], json::parse(R"([
    {"name": "a", "type": "f32[16]", "bytes": 64, "offset": 0, "first": 0, "last": 1},
    {"name": "b", "type": "f32[8]", "bytes": 32, "offset": 64, "first": 1, "last": 2},
    {"name": "instruction 2", "type": "f32[4]", "bytes": 16, "offset": 0, "first": 2, "last": 3}])"));
}

// Unused tensors take no memory. Tensors that are used, but never written (views), are named by
// their number.
TEST(MemoryPictureTest, OmitsUnusedTensorsAndNumbersUnwrittenOnes) {
  schema::Method method = Chain();
  AddTensor(method, 4, 0);
  AddTensor(method, 2, 32);
  method.mutable_instructions(2)->mutable_kernel()->add_arguments(5);
  const json picture = MemoryPicture(method, nullptr);
  ASSERT_EQ(picture["tensors"].size(), 4u) << picture;
  EXPECT_EQ(picture["tensors"][3]["name"], "value 5");
}

TEST(MemoryPictureTest, NumbersInstructionsWithoutDebugData) {
  EXPECT_EQ(MemoryPicture(Chain(), nullptr)["instructions"][0], "instruction 0");
}

}  // namespace
}  // namespace belay::tools
