#include <cstddef>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "backends/demo/demo_blob.h"
#include "fuzz/corpus/seeds.h"

namespace belay::fuzz {
namespace {

// The choices of GenerateDelegateFile() for a call with so many arguments and outputs, all of them
// f32[2,3], by the `backend`-th backend of the folder.
std::string Call(char backend, int arguments, int outputs) {
  // A float32; two dimensions, small ones, of 2 and 3; none dynamic.
  const std::string tensor("\xff\x02\xff\x02\xff\x03\x00", 7);
  std::string choices(1, backend);
  choices.push_back(static_cast<char>(arguments));
  for (int i = 0; i < arguments; ++i) choices += tensor + std::string(1, '\0');  // no scalar
  choices.push_back(static_cast<char>(outputs));
  for (int i = 0; i < outputs; ++i) choices += tensor;
  choices += std::string(2, '\0');  // neither compile specs nor named data
  return choices;
}

std::string DemoProgramBlob() {
  demo::DemoProgram program;
  program.set_num_arguments(1);
  demo::DemoConstant* constant = program.add_constants();
  constant->add_sizes(3);
  demo::DemoInstruction* add = program.add_instructions();
  add->set_op(demo::DEMO_OP_ADD);
  add->add_operands(0);
  add->add_operands(1);
  add->set_alpha(1);
  demo::DemoInstruction* relu = program.add_instructions();
  relu->set_op(demo::DEMO_OP_RELU);
  relu->add_operands(2);
  program.add_outputs(3);
  const float elements[] = {1, -2, 3};
  std::vector<std::byte> constants(sizeof(elements));
  std::memcpy(constants.data(), elements, sizeof(elements));
  const std::vector<std::byte> blob = demo::WriteDemoBlob(program, constants);
  return std::string(reinterpret_cast<const char*>(blob.data()), blob.size());
}

}  // namespace

void AddBlobSeeds(Seeds& seeds) {
  const auto add = [&](const char* corpus, std::string name, std::string bytes) {
    seeds.push_back({corpus, std::move(name), std::move(bytes)});
  };
  // In the order of backends/demo/runtimes.cc; where that changes, fuzzers find the way again.
  add("backend_blob_demo", "demo", Call(0, 1, 1) + DemoProgramBlob());
  add("backend_blob_demo", "demo_no_arguments", Call(0, 0, 1) + DemoProgramBlob());
  add("backend_blob_demo", "compiler",
      Call(1, 1, 1) +
          "1version:0#op:demo::aten.sin.default, numel:6, dtype:torch.float32<debug_handle>1#");
  add("backend_blob_demo", "compiler_two",
      Call(1, 2, 1) +
          "2version:0#op:demo::aten.mm.default, numel:4, dtype:torch.float32"
          "<debug_handle>1#op:demo::aten.add.Tensor, numel:6, dtype:torch.float32"
          "<debug_handle>2#");
  add("backend_blob_demo", "mapping", Call(2, 1, 1) + "1#conv_relu_op,0,");
  add("backend_blob_demo", "named_data", Call(3, 1, 1) + "aten.sin.default");
  add("backend_blob_demo", "preprocess_all",
      Call(4, 1, 1) + "FirstBackendWithPreprocessAll#2#aten.sin.default+aten.cos.default#");
  add("backend_blob_demo", "preprocess_constant",
      Call(5, 1, 1) + "SecondBackendWithPreprocessAll#1#CONSTc+aten.add.Tensor#");
  add("backend_blob_demo", "executor", Call(6, 1, 1) + "BELAY\r\n\x1a");
  AddXnnpackSeeds(seeds, Call(0, 1, 1));
  add("backend_blob_any", "empty", Call(0, 0, 0));
  add("backend_blob_any", "one_argument", Call(0, 1, 1) + "blob");
}

}  // namespace belay::fuzz
