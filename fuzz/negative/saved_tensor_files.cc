// `.pt`: weights saved by torch.save, a zip file with a pickle that is never executed.
#include <string>
#include <utility>
#include <vector>

#include "exir/import/testing/zip_writer.h"
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

// --- Pickles, as torch writes them ---

std::string Text(const std::string& text) {
  std::string length(4, '\0');
  PutNumber<uint32_t>(length, 0, static_cast<uint32_t>(text.size()));
  return "X" + length + text;
}
std::string Long(int64_t value) {
  std::string bytes(8, '\0');
  PutNumber<uint64_t>(bytes, 0, static_cast<uint64_t>(value));
  return "\x8a\x08" + bytes;
}
std::string Tuple(const std::vector<int64_t>& values) {
  std::string out = "(";
  for (const int64_t value : values) out += Long(value);
  return out + "t";
}
std::string StorageOf(int64_t count) {
  return "(" + Text("storage") + "ctorch\nFloatStorage\n" + Text("0") + Text("cpu") + Long(count) +
         "tQ";
}
std::string Tensor(int64_t count, int64_t offset, const std::vector<int64_t>& sizes,
                   const std::vector<int64_t>& strides) {
  return "ctorch._utils\n_rebuild_tensor_v2\n(" + StorageOf(count) + Long(offset) + Tuple(sizes) +
         Tuple(strides) + "\x89" + "ccollections\nOrderedDict\n)RtR";
}
std::string Dict(const std::vector<std::pair<std::string, std::string>>& entries) {
  std::string out = "\x80\x02}(";
  for (const auto& [key, value] : entries) out += Text(key) + value;
  return out + "u.";
}
std::string File(const std::string& pickle, const std::string& storage = std::string(24, '\0'),
                 const std::string& byteorder = "little") {
  return exir::WriteZip({{.name = "archive/data.pkl", .content = pickle},
                         {.name = "archive/byteorder", .content = byteorder},
                         {.name = "archive/data/0", .content = storage}});
}
std::string OneTensor(int64_t count, int64_t offset, const std::vector<int64_t>& sizes,
                      const std::vector<int64_t>& strides) {
  return File(Dict({{"w", Tensor(count, offset, sizes, strides)}}));
}

const NegativeBytes kFiles[] = {
    {"C1_truncated", "the last byte is missing", kLoss, "zip:",
     [] {
       std::string file = OneTensor(6, 0, {2, 3}, {3, 1});
       file.pop_back();
       return file;
     }},
    {"C1_pickle_empty", "a pickle of no bytes", kLoss, "pickle", [] { return File(""); }},
    {"C1_pickle_cut_off", "a pickle that ends too early", kLoss, "pickle",
     [] {
       const std::string pickle = Dict({{"w", Tensor(6, 0, {2, 3}, {3, 1})}});
       return File(pickle.substr(0, pickle.size() / 2));
     }},
    {"C5_no_pickle", "an archive without data.pkl", kMissing, "data.pkl",
     [] { return exir::WriteZip({{.name = "archive/x", .content = "x"}}); }},
    {"C7_protocol_99", "pickle protocol 99", kNewer, "pickle", [] { return File("\x80\x63}."); }},
    {"C8_no_zip", "no zip file", kLoss,
     "zip:", [] { return std::string("no zip file at all, really"); }},
    {"C8_big_endian", "big endian data", kNewer, "'big'",
     [] { return File("\x80\x02}.", "", "big"); }},
    {"T1_storage", "a storage that is missing", kMissing, "archive/data/0",
     [] {
       return exir::WriteZip(
           {{.name = "archive/data.pkl", .content = Dict({{"w", Tensor(6, 0, {2, 3}, {3, 1})}})}});
     }},
    {"T2_string_runs_out", "a string of 2^32 - 1 bytes", kLoss, "pickle",
     [] { return File("\x80\x02X\xff\xff\xff\xff"); }},
    {"T2_string_of_2_63", "a string of 2^63 bytes", kNewer, "the instruction 0x8d",
     [] { return File("\x80\x04\x8d" + std::string(7, '\0') + "\x80"); }},
    {"T3_opcode", "an unknown opcode", kNewer, "pickle", [] { return File("\x80\x02\xf0."); }},
    {"T4_memo", "a memo that was never stored", kInvalid, "pickle",
     [] { return File("\x80\x02h\x05."); }},
    {"T4_stack", "an empty stack", kInvalid, "pickle", [] { return File("\x80\x02s."); }},
    {"N1_numel_overflow", "2^62 x 4 elements", kInvalid, "'w'",
     [] { return OneTensor(6, 0, {int64_t{1} << 62, 4}, {4, 1}); }},
    {"N1_extent_overflow", "a last element beyond 2^63", kInvalid, "'w'",
     [] { return OneTensor(6, 0, {4, 3}, {int64_t{1} << 62, 1}); }},
    {"N1_storage_overflow", "a storage of 2^62 elements", kInvalid, "'w'",
     [] { return OneTensor(int64_t{1} << 62, 0, {2, 3}, {3, 1}); }},
    {"N2_rank_17", "17 dimensions", kNewer, "has 17 dimensions; at most 16",
     [] { return OneTensor(6, 0, std::vector<int64_t>(17, 1), std::vector<int64_t>(17, 1)); }},
    {"N3_size_negative", "a size of -2", kInvalid, "'w'",
     [] { return OneTensor(6, 0, {-2, 3}, {3, 1}); }},
    {"N3_stride_negative", "a stride of -1", kInvalid, "the stride -1 is negative",
     [] { return OneTensor(6, 0, {2, 3}, {3, -1}); }},
    {"N3_offset_negative", "an offset of -1", kInvalid, "the storage offset -1 is negative",
     [] { return OneTensor(6, -1, {2, 3}, {3, 1}); }},
    {"N4_strides_short", "fewer strides than sizes", kInvalid, "'w'",
     [] { return OneTensor(6, 0, {2, 3}, {1}); }},
    {"N6_offset_beyond_storage", "a tensor outside of its storage", kLoss, "'w' needs 28 bytes",
     [] { return OneTensor(6, 1, {2, 3}, {3, 1}); }},
    {"B1_storage_shorter", "a storage of fewer bytes than declared", kLoss,
     "weights shorter than declared: the storage of 'w' needs 24 bytes",
     [] { return File(Dict({{"w", Tensor(6, 0, {2, 3}, {3, 1})}}), std::string(12, '\0')); }},
    {"P1_key_twice", "two tensors of one name", kInvalid, "duplicate key",
     [] { return File(Dict({{"w", Tensor(6, 0, {1}, {1})}, {"w", Tensor(6, 0, {1}, {1})}})); }},
    {"P3_storage_path", "a storage called ../../secret", kMissing,
     "no entry 'archive/data/../../secret'",
     [] {
       std::string storage = "(" + Text("storage") + "ctorch\nFloatStorage\n" +
                             Text("../../secret") + Text("cpu") + Long(6) + "tQ";
       return File(
           Dict({{"w", "ctorch._utils\n_rebuild_tensor_v2\n(" + storage + Long(0) + Tuple({2, 3}) +
                           Tuple({3, 1}) + "\x89" + "ccollections\nOrderedDict\n)RtR"}}));
     }},
    {"P4_calls_system", "a pickle that runs a command", kNewer, "it names 'posix system'",
     [] { return File("\x80\x02" + std::string("cposix\nsystem\n") + Text("ls") + "\x85R."); }},
    {"P4_calls_eval", "a pickle that evaluates an expression", kNewer, "it names 'builtins eval'",
     [] { return File("\x80\x02" + std::string("cbuiltins\neval\n") + Text("1") + "\x85R."); }},
    {"P4_bomb", "a pickle of 20 MB in 20 kB", kExhausted, "max_pickle_bytes",
     [] {
       return exir::WriteZip(
           {{.name = "archive/data.pkl", .content = std::string(20 << 20, '0'), .deflate = true}});
     }},
};

}  // namespace

std::vector<NegativeFile> SavedTensorFiles() {
  return FilesOf(kFiles, NegativeReader::kSavedTensors, ".pt");
}

}  // namespace belay::fuzz
