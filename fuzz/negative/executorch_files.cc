// ExecuTorch's files (.pte, .ptd) and XNNPACK payloads. Rows name the CVEs of 2025 that they
// reproduce (docs/hardening.md §3 has the classes).
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backends/xnnpack/testing/payload_builder.h"
#include "executorch/reader/testing/pte_builder.h"
#include "fuzz/negative/negative_files.h"
#include "fuzz/negative/program_edits.h"
#include "fuzz/negative/raw_bytes.h"

namespace belay::fuzz {
namespace {

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr auto kLoss = absl::StatusCode::kDataLoss;
constexpr auto kLacking = absl::StatusCode::kUnimplemented;
constexpr auto kExhausted = absl::StatusCode::kResourceExhausted;

// --- Programs ---

// y = relu(x), with an unused constant.
struct Relu : pte::PteBuilder {
  int32_t x = Tensor({2, 3}), y = Tensor({2, 3}), w = Constant({2}, {1, 2});
  Relu() {
    Input(x);
    Call("aten::relu", "out", {x, y, y});
    Output(y);
  }
};
std::string Edited(void (*edit)(Relu& p)) {
  Relu relu;
  edit(relu);
  return relu.Serialize();
}
template <class T>
std::string Patched(size_t at, T value) {
  std::string file = Relu().Serialize();
  PutNumber<T>(file, at, value);
  return file;
}
#define BELAY_PTE(...) [] { return Edited([](Relu& p) { __VA_ARGS__; }); }

// A list with more elements than the file has bytes.
std::string EndlessList() {
  Relu relu;
  const int32_t one = relu.Int(1), two = relu.Int(2);
  relu.IntList({one, two, one, one, two});
  std::string file = relu.Serialize();
  std::string elements(5 * sizeof(int64_t), '\0');
  const int32_t values[] = {one, two, one, one, two};
  for (size_t i = 0; i < 5; ++i) PutNumber<int64_t>(elements, i * sizeof(int64_t), values[i]);
  PutNumber<uint32_t>(file, file.find(elements) - sizeof(uint32_t), uint32_t{1} << 31);
  return file;
}

// Replaces row `index` of a tensor with 3 rows.
std::string CopyIndex(int64_t index) {
  pte::PteBuilder pte;
  const int32_t to = pte.Tensor({3, 2}), from = pte.Constant({2}, {1, 2});
  pte.tensor(to).shape_dynamism = pte::TensorShapeDynamism::DYNAMIC_BOUND;
  pte.Call("executorch_prim::et_copy_index", "tensor", {to, from, pte.Int(index)});
  pte.Output(to);
  return pte.Serialize();
}

const NegativeBytes kPrograms[] = {
    {"C1_shorter_than_header", "63 bytes", kLoss, "63 bytes",
     [] { return Relu().Serialize().substr(0, 63); }},
    {"C1_root_beyond_end", "tables that begin after the end of the file", kLoss,
     "the tables are damaged", [] { return Patched<uint32_t>(0, 0x7ffffff0); }},
    {"C2_tables_size", "more bytes of tables than of the file", kLoss, "the tables end at",
     [] { return Patched<uint64_t>(16, uint64_t{1} << 40); }},
    {"C3_segments_wrap", "base and size of the segments wrap", kLoss,
     "segments of 18446744073709551615 bytes", [] { return Patched<uint64_t>(32, UINT64_MAX); }},
    {"C4_constant_offset_wraps", "a constant near 2^64", kInvalid,
     "8 bytes at 18446744073709551612",
     BELAY_PTE(p.program().constant_segment->offsets[1] = UINT64_MAX - 3)},
    {"C5_no_segments", "a header that knows of no segments", kInvalid, "segments[0]",
     [] { return Patched<uint64_t>(24, 0); }},
    {"C7_newer_schema", "schema version 1", kLacking, "schema version 1, this reader reads 0",
     BELAY_PTE(p.program().version = 1)},
    {"C8_old_identifier", "identifier ET11", kLacking, "'ET11', this reader reads 'ET12'",
     [] { return Relu().Serialize().replace(4, 4, "ET11"); }},
    {"T1_no_chains", "a method without a chain", kInvalid, "chains are missing",
     BELAY_PTE(p.method().chains.clear())},
    {"T1_no_blob", "a delegate without a blob", kInvalid, "processed is missing",
     BELAY_PTE(p.Delegate("demo", "blob", {p.x, p.Tensor({2, 3})});
               p.method().delegates[0]->processed.reset())},
    {"T3_value_kind", "a value of no kind", kInvalid, "value 0: kind 0 is unknown",
     BELAY_PTE(p.method().values[0]->val.Reset())},
    {"T3_scalar_type", "a dtype that does not exist", kInvalid, "scalar_type 30",
     BELAY_PTE(p.tensor(p.x).scalar_type = 30)},
    {"T4_operator_index", "an operator index out of range", kInvalid,
     "operator 1 does not exist, there are 1",
     BELAY_PTE(p.instruction(0).instr_args.AsKernelCall()->op_index = 1)},
    {"T4_argument_index", "an argument index out of range", kInvalid, "value 77 does not exist",
     BELAY_PTE(p.instruction(0).instr_args.AsKernelCall()->args[0] = 77)},
    {"T5_list_element", "a list of a value that does not exist", kInvalid, "element 0 is value 99",
     BELAY_PTE(p.IntList({99}))},
    {"A1_list_length", "a list of 2^31 elements (CVE-2025-54952)", kLoss, "the tables are damaged",
     EndlessList},
    {"A1_pools_wrap", "pools whose sizes wrap (CVE-2025-30404)", kExhausted, "arena_bytes",
     BELAY_PTE(p.method().non_const_buffer_sizes.push_back(INT64_MAX);
               p.method().non_const_buffer_sizes.push_back(INT64_MAX))},
    {"N1_bytes_wrap", "a tensor whose bytes wrap (CVE-2025-30402)", kInvalid, "overflow",
     BELAY_PTE(p.tensor(p.x).sizes.assign(4, INT32_MAX); p.tensor(p.x).dim_order = {0, 1, 2, 3})},
    {"N2_rank", "17 dimensions (CVE-2025-54951)", kInvalid, "rank 17 is above 16",
     BELAY_PTE(p.tensor(p.x).sizes.assign(17, 1); p.tensor(p.x).dim_order.assign(17, 0))},
    {"N3_negative_size", "a size of -3", kInvalid, "sizes[1] is -3",
     BELAY_PTE(p.tensor(p.x).sizes = {2, -3})},
    {"N4_dim_order", "a dim order that is not a permutation", kInvalid,
     "{0,0} is not a permutation", BELAY_PTE(p.tensor(p.x).dim_order = {0, 0})},
    {"N6_constant_index", "a constant index out of range", kInvalid, "entry 9 does not exist",
     BELAY_PTE(p.tensor(p.w).data_buffer_idx = 9)},
    {"N7_place_wraps", "an offset in a pool that wraps (CVE-2025-30405)", kInvalid,
     "are not inside the",
     BELAY_PTE(p.tensor(p.x).allocation_info->memory_offset_low = UINT32_MAX - 7;
               p.tensor(p.x).allocation_info->memory_offset_high = UINT32_MAX)},
    {"N8_copy_index", "a row after the tensor's last (CVE-2025-54949)",
     absl::StatusCode::kOutOfRange, "[1073741825,2]", [] { return CopyIndex(1 << 30); }},
    {"N8_copy_index_negative", "row -1 (CVE-2025-54949)", kInvalid, "expected a row index, got -1",
     [] { return CopyIndex(-1); }},
    {"I1_jump_condition", "a jump on null", kInvalid, "is Null, expected Bool",
     BELAY_PTE(p.JumpFalse(p.Null(), 0))},
    {"I2_endless", "a jump to itself", kExhausted, "executed_instructions",
     [] {
       pte::PteBuilder pte;
       pte.JumpFalse(pte.Bool(false), 0);
       return pte.Serialize();
     }},
    {"I4_move_of_kinds", "a number moved into a tensor", kInvalid, "is Int, value 1 is Tensor",
     BELAY_PTE(p.Move(p.Int(1), p.y))},
    {"I5_prim_arguments", "two values for an operator of three (CVE-2025-54950)", kInvalid,
     "it has 2 arguments, expected 3",
     BELAY_PTE(p.Call("executorch_prim::add", "Scalar", {p.Int(1), p.Int(2)}))},
    {"B2_data_missing", "a tensor of a data file that is missing", absl::StatusCode::kNotFound,
     "external tensor 'w'", BELAY_PTE(p.External({2}, "w"))},
};

// --- Data files; a program reads "w", f32[2], from them ---

std::string Data() { return pte::DataFileOf({{"w", {1, 2}}}); }
template <class T>
std::string DataWith(size_t at, T value) {
  std::string file = Data();
  PutNumber<T>(file, at, value);
  return file;
}
// "w" with these sizes in a segment of 8 bytes at this offset.
std::string DataOf(std::vector<int32_t> sizes, uint64_t offset = 0, uint32_t segment = 0) {
  ptd::FlatTensorT root;
  root.segments.push_back(std::make_unique<ptd::DataSegmentT>());
  root.segments[0]->offset = offset;
  root.segments[0]->size = 8;
  root.named_data.push_back(std::make_unique<ptd::NamedDataT>());
  ptd::NamedDataT& data = *root.named_data[0];
  data.key = "w";
  data.segment_index = segment;
  data.tensor_layout = std::make_unique<ptd::TensorLayoutT>();
  data.tensor_layout->scalar_type = pte::kFloatType;
  for (size_t i = 0; i < sizes.size(); ++i) {
    data.tensor_layout->dim_order.push_back(static_cast<uint8_t>(i));
  }
  data.tensor_layout->sizes = std::move(sizes);
  return pte::SerializeData(root, "12345678");
}

const NegativeBytes kDataFiles[] = {
    {"C1_shorter_than_header", "20 bytes", kLoss, "20 bytes", [] { return Data().substr(0, 20); }},
    {"C2_tables_wrap", "offset and size of the tables wrap", kLoss, "overflow",
     [] { return DataWith<uint64_t>(16, UINT64_MAX); }},
    {"C4_segment_wraps", "a segment near 2^64", kInvalid,
     "8 bytes at 18446744073709551615 are not inside", [] { return DataOf({2}, UINT64_MAX); }},
    {"C6_end_wraps", "base and size of the segments wrap", kLoss, "segments of",
     [] { return DataWith<uint64_t>(40, UINT64_MAX); }},
    {"C8_program", "a program's identifier", kLoss, "an ExecuTorch program",
     [] { return Data().replace(4, 4, "ET12"); }},
    {"T4_segment_index", "a segment index out of range", kInvalid, "segment 2 does not exist",
     [] { return DataOf({2}, 0, 2); }},
    {"N3_negative_size", "a size of -1", kInvalid, "sizes[0] is -1", [] { return DataOf({-1}); }},
    {"B1_tensor_larger", "a tensor of more bytes than its segment", kInvalid,
     "a tensor of 12 bytes, the segment has 8", [] { return DataOf({3}); }},
    {"B2_other_sizes", "a tensor of other sizes than the program's", kInvalid, "float32[1,2]",
     [] { return DataOf({1, 2}); }},
};

// --- Payloads of f32[2,3] → f32[2,3] ---

using xnnpack::Datatype;
using xnnpack::NodeType;

struct Abs : xnnpack::PayloadBuilder {
  uint32_t x = Input(0, {2, 3}), y = Output(1, {2, 3});
  xnnpack::fb::UnaryT& node = Unary(NodeType::Abs, x, y);
};
std::string Payload(void (*edit)(Abs& p)) {
  Abs payload;
  edit(payload);
  return payload.Serialize();
}
template <class T>
std::string PayloadWith(size_t at, T value) {
  std::string bytes = Abs().Serialize();
  PutNumber<T>(bytes, at, value);
  return bytes;
}
#define BELAY_PAYLOAD(...) [] { return Payload([](Abs& p) { __VA_ARGS__; }); }

const NegativeBytes kPayloads[] = {
    {"C1_shorter_than_header", "20 bytes", kLoss, "expected at least 30",
     [] { return Abs().Serialize().substr(0, 20); }},
    {"C2_graph_size_wraps", "a graph of 2^32 - 1 bytes", kLoss, "a graph of",
     [] { return PayloadWith<uint32_t>(14, UINT32_MAX); }},
    {"C7_newer_version", "identifier XN02", kLacking, "XN01",
     [] { return Abs().SerializeGraph("XN02"); }},
    {"D1_sections_overlap", "constants that overlap the graph", kLoss, "bytes of constants at 32",
     [] { return PayloadWith<uint32_t>(18, 32); }},
    {"D1_unverified", "a root after the end", kLoss, "damaged",
     [] { return PayloadWith<uint32_t>(32, uint32_t{1} << 30); }},
    {"D2_constant_index", "a constant index out of range", kInvalid, "constant 9 does not exist",
     BELAY_PAYLOAD(p.tensor(p.Constant({3}, {1, 2, 3})).constant_buffer_idx = 9)},
    {"D2_constant_offset", "a constant near 2^64", kInvalid, "are not inside the payload's",
     BELAY_PAYLOAD(p.Constant({3}, {1, 2, 3}); p.graph().constant_data[1]->offset = UINT64_MAX)},
    {"D3_num_dims", "a number of dimensions that is not that of the sizes", kInvalid,
     "expected 3 numbers, got 2", BELAY_PAYLOAD(p.tensor(p.x).num_dims = 3)},
    {"D4_flags", "a value that is input and output", kInvalid, "flags 3 with external id 0",
     BELAY_PAYLOAD(p.tensor(p.x).flags = 3)},
    {"D5_unknown_id", "a node of a value that does not exist", kInvalid, "no value has id 9",
     BELAY_PAYLOAD(p.node.input_id = 9)},
    {"D5_unknown_node", "a node type that this library lacks", kLacking,
     "ArgMaxPooling2d, is not supported",
     BELAY_PAYLOAD(p.Add<xnnpack::fb::ArgMaxPoolT>(NodeType::ArgMaxPooling2d))},
    {"D6_externals", "5000 external values", kInvalid, "5000 external values",
     BELAY_PAYLOAD(p.graph().num_externs = 5000)},
    {"D8_output_larger", "a result of [2,3] that is to be [4,3]", kInvalid,
     "it computes sizes [2,3], its output 1 has [4,3]", BELAY_PAYLOAD(p.tensor(p.y).dims = {4, 3})},
    {"D9_sizes_wrap", "sizes whose product wraps", kInvalid, "too large",
     BELAY_PAYLOAD(p.tensor(p.x).dims.assign(6, UINT32_MAX); p.tensor(p.x).num_dims = 6)},
    {"N2_rank", "7 dimensions", kInvalid, "7 dimensions, at most 6",
     BELAY_PAYLOAD(p.tensor(p.x).dims.assign(7, 1); p.tensor(p.x).num_dims = 7)},
};

}  // namespace

std::vector<NegativeFile> ExecuTorchFiles() {
  std::vector<NegativeFile> files = FilesOf(kPrograms, NegativeReader::kExecuTorchProgram, ".pte");
  Append(files, FilesOf(kDataFiles, NegativeReader::kExecuTorchData, ".ptd"));
  Append(files, FilesOf(kPayloads, NegativeReader::kBlob, ".XnnpackBackend"));
  return files;
}

}  // namespace belay::fuzz
