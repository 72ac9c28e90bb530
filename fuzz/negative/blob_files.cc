// Classes D: blobs of delegates with one f32[2,3] argument and one f32[2,3] output.
#include <string>
#include <vector>

#include "backends/demo/demo_blob.h"
#include "fuzz/negative/negative_files.h"
#include "fuzz/negative/program_edits.h"
#include "fuzz/negative/raw_bytes.h"

namespace belay::fuzz {
namespace {

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr auto kLoss = absl::StatusCode::kDataLoss;
constexpr auto kNewer = absl::StatusCode::kUnimplemented;
constexpr auto kExhausted = absl::StatusCode::kResourceExhausted;
constexpr auto kMissing = absl::StatusCode::kNotFound;

using demo::DemoInstruction;
using demo::DemoProgram;

// out = relu(x + c); the constant c: f32[2,3] is in the blob.
std::string Demo(void (*edit)(DemoProgram& program) = nullptr, size_t constant_bytes = 24) {
  DemoProgram program;
  program.set_num_arguments(1);
  demo::DemoConstant* constant = program.add_constants();
  constant->add_sizes(2);
  constant->add_sizes(3);
  DemoInstruction* add = program.add_instructions();
  add->set_op(demo::DEMO_OP_ADD);
  add->add_operands(0);
  add->add_operands(1);
  add->set_alpha(1);
  DemoInstruction* relu = program.add_instructions();
  relu->set_op(demo::DEMO_OP_RELU);
  relu->add_operands(2);
  program.add_outputs(3);
  if (edit != nullptr) edit(program);
  const std::vector<std::byte> constants(constant_bytes);
  const std::vector<std::byte> blob = demo::WriteDemoBlob(program, constants);
  return std::string(reinterpret_cast<const char*>(blob.data()), blob.size());
}
template <class T>
std::string DemoWith(size_t at, T value) {
  std::string blob = Demo();
  PutNumber<T>(blob, at, value);
  return blob;
}

const NegativeBytes kDemo[] = {
    {"C1_empty", "no bytes", kLoss, "the blob is not one of the demo backend",
     [] { return std::string(); }},
    {"C1_header_short", "15 bytes of 16", kLoss, "the blob is not one of the demo backend",
     [] { return Demo().substr(0, 15); }},
    {"C7_newer_version", "version 2", kNewer, "the blob has version 2, this build reads version 1",
     [] { return DemoWith<uint32_t>(4, 2); }},
    {"C8_wrong_magic", "another magic", kLoss, "the blob is not one of the demo backend",
     [] { return "OMED" + Demo().substr(4); }},
    {"D1_program_runs_out", "a program of more bytes than the blob", kLoss,
     "the blob says that its program has 100000 bytes",
     [] { return DemoWith<uint64_t>(8, 100000); }},
    {"D1_program_size_wraps", "16 + the program's size wraps", kLoss,
     "the blob says that its program has 18446744073709551600 bytes",
     [] { return DemoWith<uint64_t>(8, ~uint64_t{0} - 15); }},
    {"D1_program_garbage", "a program that does not parse", kLoss,
     "the blob's program does not parse",
     [] {
       std::string blob = Demo();
       for (size_t i = 16; i < 30; ++i) blob[i] = '\xff';
       return blob;
     }},
    {"D1_constants_missing", "no bytes for the constants", kLoss,
     "constant 0 is outside of the blob", [] { return Demo(nullptr, 0); }},
    {"D2_constant_offset", "a constant after the end of the blob", kLoss,
     "constant 0 is outside of the blob",
     [] { return Demo([](DemoProgram& p) { p.mutable_constants(0)->set_offset(4); }); }},
    {"D2_constant_offset_wraps", "offset + size of a constant wraps", kLoss,
     "constant 0 is outside of the blob",
     [] {
       return Demo([](DemoProgram& p) { p.mutable_constants(0)->set_offset(~uint64_t{0} - 7); });
     }},
    {"D2_constant_misaligned", "a constant at byte 2", kLoss, "constant 0 is outside of the blob",
     [] { return Demo([](DemoProgram& p) { p.mutable_constants(0)->set_offset(2); }, 40); }},
    {"D2_operand", "a value that is computed later", kLoss,
     "instruction 0 uses value 3, which is not computed before it",
     [] { return Demo([](DemoProgram& p) { p.mutable_instructions(0)->set_operands(1, 3); }); }},
    {"D2_output", "an output that is not a value", kLoss, "output 0 is value 9, but there are 4",
     [] { return Demo([](DemoProgram& p) { p.set_outputs(0, 9); }); }},
    {"D3_argument_count", "two arguments where the call has one", kInvalid,
     "the blob takes 2 arguments, the call has 1",
     [] { return Demo([](DemoProgram& p) { p.set_num_arguments(2); }); }},
    {"D3_output_count", "two outputs where the call has one", kInvalid,
     "the blob computes 2 outputs, the call has 1",
     [] { return Demo([](DemoProgram& p) { p.add_outputs(2); }); }},
    {"D3_operand_count", "an addition of one operand", kLoss,
     "instruction 0 has 1 operands, expected 2",
     [] {
       return Demo(
           [](DemoProgram& p) { p.mutable_instructions(0)->mutable_operands()->RemoveLast(); });
     }},
    {"D3_rank_17", "a constant of 17 dimensions", kLoss, "constant 0 is outside of the blob",
     [] {
       return Demo([](DemoProgram& p) {
         for (int i = 0; i < 15; ++i) p.mutable_constants(0)->add_sizes(1);
       });
     }},
    {"D5_unknown_operator", "operator 77", kNewer, "operator 77 is unknown to this build",
     [] {
       return Demo([](DemoProgram& p) {
         p.mutable_instructions(0)->set_op(static_cast<demo::DemoOp>(77));
       });
     }},
    {"D5_operator_missing", "an instruction without operator", kNewer,
     "operator 0 is unknown to this build",
     [] { return Demo([](DemoProgram& p) { p.mutable_instructions(0)->clear_op(); }); }},
    {"D6_arguments_2_32", "2^32 - 1 arguments", kInvalid, "the blob takes 4294967295 arguments",
     [] { return Demo([](DemoProgram& p) { p.set_num_arguments(~uint32_t{0}); }); }},
    {"D8_output_larger", "an output of f32[4,3] where f32[2,3] is planned", kInvalid, "[4,3]",
     [] {
       return Demo(
           [](DemoProgram& p) {
             p.mutable_constants(0)->set_sizes(0, 4);
             p.mutable_instructions(0)->set_operands(0, 1);
           },
           48);
     }},
    {"D8_output_rank", "an output of rank 3 where rank 2 is planned", kInvalid,
     "expected a tensor of f32 of rank 3",
     [] { return Demo([](DemoProgram& p) { p.mutable_constants(0)->add_sizes(1); }, 24); }},
    {"D9_constant_overflow", "a constant of 2^62 x 2^62 elements", kLoss,
     "constant 0 is outside of the blob",
     [] {
       return Demo([](DemoProgram& p) {
         p.mutable_constants(0)->set_sizes(0, int64_t{1} << 62);
         p.mutable_constants(0)->set_sizes(1, int64_t{1} << 62);
       });
     }},
    {"D9_constant_negative", "a constant of -1 x -6 elements", kLoss,
     "constant 0 is outside of the blob",
     [] {
       return Demo([](DemoProgram& p) {
         p.mutable_constants(0)->set_sizes(0, -1);
         p.mutable_constants(0)->set_sizes(1, -6);
       });
     }},
    {"D9_product_overflow", "a matmul of 2^31 x 0 and 0 x 2^40 elements", kInvalid, "instruction",
     [] {
       return Demo([](DemoProgram& p) {
         p.mutable_constants(0)->set_sizes(0, int64_t{1} << 40);
         p.mutable_constants(0)->set_sizes(1, 0);
         demo::DemoConstant* other = p.add_constants();
         other->add_sizes(0);
         other->add_sizes(int64_t{1} << 40);
         DemoInstruction* mm = p.mutable_instructions(0);
         mm->set_op(demo::DEMO_OP_MM);
         mm->set_operands(0, 1);
         mm->set_operands(1, 2);
         p.mutable_instructions(1)->set_operands(0, 3);
         p.set_outputs(0, 4);
       });
     }},
    {"A1_working_memory", "intermediate results of 2^35 bytes", kExhausted,
     "intermediate results need more than 4294967296 bytes",
     [] {
       return Demo([](DemoProgram& p) {
         p.mutable_constants(0)->set_sizes(0, int64_t{1} << 17);
         p.mutable_constants(0)->set_sizes(1, 0);
         demo::DemoConstant* other = p.add_constants();
         other->add_sizes(0);
         other->add_sizes(int64_t{1} << 16);
         DemoInstruction* mm = p.mutable_instructions(0);
         mm->set_op(demo::DEMO_OP_MM);
         mm->set_operands(0, 1);
         mm->set_operands(1, 2);
         p.mutable_instructions(1)->set_operands(0, 3);
         p.set_outputs(0, 4);
       });
     }},
};

const NegativeBytes kCompilerDemo[] = {
    {"C1_empty", "no bytes", kLoss, "the blob is malformed at byte 0",
     [] { return std::string(); }},
    {"C7_newer_version", "version 7", kNewer, "the blob has version 7, this build reads version 0",
     [] { return std::string("0version:7#"); }},
    {"C8_garbage", "another backend's blob", kLoss, "the blob is malformed at byte 0",
     [] { return Demo(); }},
    {"D3_count", "another number of instructions", kLoss, "the blob is malformed",
     [] {
       return std::string(
           "2version:0#op:demo::aten.sin.default, numel:6, dtype:torch.float32<debug_handle>1#");
     }},
    {"D5_unknown_operator", "an operator that does not exist", kNewer,
     "an operator that this build does not know",
     [] {
       return std::string(
           "1version:0#op:demo::aten.foo.default, numel:6, dtype:torch.float32<debug_handle>1#");
     }},
    {"D8_numel", "a result of more elements than the call's", kInvalid,
     "has not the 7 elements that it was compiled for",
     [] {
       return std::string(
           "1version:0#op:demo::aten.sin.default, numel:7, dtype:torch.float32<debug_handle>1#");
     }},
    {"D9_numel_2_62", "a result of 2^62 elements", kExhausted, "a result has 4611686018427387904",
     [] {
       return std::string(
           "1version:0#op:demo::aten.sin.default, numel:4611686018427387904, "
           "dtype:torch.float32<debug_handle>1#");
     }},
    {"D9_numel_overflow", "a number of 30 digits", kLoss, "the blob is malformed",
     [] {
       return std::string(
           "1version:0#op:demo::aten.sin.default, numel:999999999999999999999999999999, "
           "dtype:torch.float32<debug_handle>1#");
     }},
    {"D6_operands", "more operands than the call has", kInvalid, "second operands",
     [] {
       return std::string(
           "1version:0#op:demo::aten.add.Tensor, numel:6, dtype:torch.float32<debug_handle>1#");
     }},
};

const NegativeBytes kMappingDemo[] = {
    {"C1_empty", "no bytes", kLoss, "the blob is malformed at byte 0",
     [] { return std::string(); }},
    {"D5_unknown_name", "an instruction that does not exist", kLoss, "the blob is malformed",
     [] { return std::string("1#foo,0,"); }},
    {"D3_count", "another number of instructions", kLoss, "the blob is malformed",
     [] { return std::string("2#conv_relu_op,0,"); }},
};
const NegativeBytes kNamedDataDemo[] = {
    {"D2_key", "data that are missing", kMissing, "nothing", [] { return std::string("nothing"); }},
    {"C1_empty", "no bytes", kMissing, "no named data '' in the program",
     [] { return std::string(); }},
};
const NegativeBytes kPreprocessDemo[] = {
    {"C1_empty", "no bytes", kLoss, "the blob is malformed at byte 0",
     [] { return std::string(); }},
    {"C8_other_backend", "the blob of another backend", kLoss, "the blob is malformed",
     [] { return std::string("OtherBackend#0#aten.sin.default#"); }},
    {"D2_constant", "a constant that is missing", kMissing, "w",
     [] { return std::string("FirstBackendWithPreprocessAll#0#aten.add.Tensor+CONSTw#"); }},
    {"D5_unknown_operator", "an operator that does not exist", kNewer,
     "an operator that this build does not know",
     [] { return std::string("FirstBackendWithPreprocessAll#0#aten.foo.default#"); }},
};

// A program of relu within the blob.
std::string Executor(void (*edit)(schema::Program& program) = nullptr, size_t inputs = 1) {
  TestProgram program;
  TestMethod method = program.AddMethod("forward");
  uint32_t x = 0;
  for (size_t i = 0; i < inputs; ++i) x = method.Input("x", DType::kFloat32, {2, 3});
  const uint32_t y = method.Arena(DType::kFloat32, {2, 3});
  method.Call("aten.relu.default", {x}, {y});
  method.Output(y);
  return program.Serialize(edit);
}
const NegativeBytes kExecutor[] = {
    {"C1_empty", "no bytes", kLoss, "it has 0 bytes, a header has 64",
     [] { return std::string(); }},
    {"C8_wrong_magic", "another magic", kLoss, "it begins with 50 45",
     [] { return "PELAY\r\n\x1a" + Executor().substr(8); }},
    {"D1_damaged", "a flipped bit", kLoss, "the metadata is damaged",
     [] {
       std::string blob = Executor();
       blob[80] ^= 1;
       return blob;
     }},
    {"D3_input_count", "two inputs where the call has one argument", kInvalid,
     "has 2 inputs and 1 outputs, the call has 1 and 1", [] { return Executor(nullptr, 2); }},
    {"D4_mutated_input", "a program that writes to its input", kInvalid,
     "the program in the blob mutates its input 0",
     [] {
       return Executor(
           [](schema::Program& p) { p.mutable_methods(0)->mutable_inputs(0)->set_mutated(true); });
     }},
    {"D5_unknown_operator", "an operator without a kernel", kMissing, "mine.op.default",
     [] {
       return Executor(
           [](schema::Program& p) { p.mutable_methods(0)->set_operators(0, "mine.op.default"); });
     }},
    {"D7_endless", "a program without end in the blob", kExhausted, "'executed_instructions'",
     [] {
       return Executor([](schema::Program& p) {
         p.mutable_methods(0)->add_instructions()->mutable_jump()->set_target(1);
       });
     }},
    {"D8_output_dtype", "a result of ints where floats are planned", kInvalid,
     "is tensor i64[2,3], the call expects tensor f32[2,3]",
     [] {
       TestProgram program;
       TestMethod method = program.AddMethod("forward");
       method.Input("x", DType::kFloat32, {2, 3});
       method.Output(method.Arena(DType::kInt64, {2, 3}));
       return program.Serialize();
     }},
    {"D8_output_larger", "a result of f32[4,3] where f32[2,3] is planned", kInvalid, "[4,3]",
     [] {
       TestProgram program;
       TestMethod method = program.AddMethod("forward");
       method.Input("x", DType::kFloat32, {2, 3});
       method.Output(method.Arena(DType::kFloat32, {4, 3}));
       return program.Serialize();
     }},
    {"D9_arena", "a program that wants 2 GiB", kExhausted, "'arena_bytes'",
     [] {
       return Executor(
           [](schema::Program& p) { p.mutable_methods(0)->set_arena_bytes(uint64_t{1} << 31); });
     }},
    {"P3_companion", "a program with a companion file in the blob", kMissing, "companion_root",
     [] {
       TestProgram program;
       program.AddMethod("forward");
       program.AddSegment(schema::Segment::NAMED_DATA, "weights", "elsewhere.data");
       return program.Serialize();
     }},
};

}  // namespace

std::vector<NegativeFile> BlobFiles() {
  std::vector<NegativeFile> files;
  const auto add = [&](absl::Span<const NegativeBytes> rows, const std::string& backend) {
    Append(files, FilesOf(rows, NegativeReader::kBlob, "." + backend));
  };
  add(kDemo, "demo");
  add(kCompilerDemo, "BackendWithCompilerDemo");
  add(kMappingDemo, "BackendWithDelegateMappingDemo");
  add(kNamedDataDemo, "BackendWithNamedDataMap");
  add(kPreprocessDemo, "FirstBackendWithPreprocessAll");
  add(kExecutor, "ExecutorBackend");
  return files;
}

}  // namespace belay::fuzz
