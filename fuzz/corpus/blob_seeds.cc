#include <cstddef>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "backends/demo/demo_blob.h"
#include "fuzz/corpus/seeds.h"
#include "fuzz/generators/delegate_call.h"

namespace belay::fuzz {
namespace {

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
  // In the order of backends/demo/runtimes.cc. If that changes, regenerate the corpus.
  add("backend_blob_demo", "demo", DelegateCall(0, 1, 1) + DemoProgramBlob());
  add("backend_blob_demo", "demo_no_arguments", DelegateCall(0, 0, 1) + DemoProgramBlob());
  add("backend_blob_demo", "compiler",
      DelegateCall(1, 1, 1) +
          "1version:0#op:demo::aten.sin.default, numel:6, dtype:torch.float32<debug_handle>1#");
  add("backend_blob_demo", "compiler_two",
      DelegateCall(1, 2, 1) +
          "2version:0#op:demo::aten.mm.default, numel:4, dtype:torch.float32"
          "<debug_handle>1#op:demo::aten.add.Tensor, numel:6, dtype:torch.float32"
          "<debug_handle>2#");
  add("backend_blob_demo", "mapping", DelegateCall(2, 1, 1) + "1#conv_relu_op,0,");
  add("backend_blob_demo", "named_data", DelegateCall(3, 1, 1) + "aten.sin.default");
  add("backend_blob_demo", "preprocess_all",
      DelegateCall(4, 1, 1) + "FirstBackendWithPreprocessAll#2#aten.sin.default+aten.cos.default#");
  add("backend_blob_demo", "preprocess_constant",
      DelegateCall(5, 1, 1) + "SecondBackendWithPreprocessAll#1#CONSTc+aten.add.Tensor#");
  add("backend_blob_demo", "executor", DelegateCall(6, 1, 1) + "BELAY\r\n\x1a");
  AddXnnpackSeeds(seeds, DelegateCall(0, 1, 1));
  add("backend_blob_any", "empty", DelegateCall(0, 0, 0));
  add("backend_blob_any", "one_argument", DelegateCall(0, 1, 1) + "blob");
}

}  // namespace belay::fuzz
