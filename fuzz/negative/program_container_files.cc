// Classes C, A, P1 and P3: container of a program file, and offsets of its parts.
#include <string>

#include "fuzz/negative/negative_files.h"
#include "fuzz/negative/program_edits.h"
#include "fuzz/negative/raw_bytes.h"
#include "runtime/schema/file_format.h"

namespace belay::fuzz {
namespace {

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr auto kLoss = absl::StatusCode::kDataLoss;
constexpr auto kNewer = absl::StatusCode::kUnimplemented;
constexpr auto kExhausted = absl::StatusCode::kResourceExhausted;
constexpr auto kMissing = absl::StatusCode::kNotFound;
constexpr uint64_t kMax64 = ~uint64_t{0};

std::string Sample() { return SampleProgram().Serialize(); }

// Returns the sample with an integer of its header replaced.
template <class T>
std::string WithHeader(size_t at, T value) {
  std::string file = Sample();
  PutNumber<T>(file, at, value);
  FixHeaderChecksum(file);
  return file;
}

constexpr NegativeBytes kFrames[] = {
    {"C1_empty", "no bytes", kLoss, "it has 0 bytes, a header has 64",
     [] { return std::string(); }},
    {"C1_header_short", "63 bytes of a header", kLoss, "it has 63 bytes, a header has 64",
     [] { return Sample().substr(0, 63); }},
    {"C1_header_alone", "a header whose metadata were cut off", kLoss, "is truncated: 64 bytes",
     [] { return Sample().substr(0, 64); }},
    {"C1_first_segment_in_header", "the header says that segments begin inside it", kInvalid,
     "segments: the first one in the file is at", [] { return WithHeader<uint64_t>(24, 8); }},
    {"C1_first_segment_beyond_end", "a header whose segments begin after the end of the file",
     kInvalid, "the header says 1152921504606846976",
     [] { return WithHeader<uint64_t>(24, uint64_t{1} << 60); }},
    {"C2_metadata_beyond_file", "more metadata than the file has bytes", kLoss,
     "bytes do not fit into a file of", [] { return WithHeader<uint64_t>(16, 100000); }},
    {"C2_metadata_size_wraps", "64 + the metadata's size is 32 in 64 bits", kExhausted,
     "the limit 'metadata_bytes'", [] { return WithHeader<uint64_t>(16, kMax64 - 31); }},
    {"C2_metadata_above_int", "metadata of 2^31 bytes", kExhausted, "the limit 'metadata_bytes'",
     [] { return WithHeader<uint64_t>(16, uint64_t{1} << 31); }},
    {"C2_declared_size_larger", "the header declares more bytes than there are", kLoss,
     "the program file is truncated", [] { return WithHeader<uint64_t>(32, Sample().size() + 1); }},
    {"C2_declared_size_smaller", "bytes after the declared end", kLoss,
     "the program file is too long", [] { return WithHeader<uint64_t>(32, Sample().size() - 1); }},
    {"C2_truncated", "the last byte is missing", kLoss, "the program file is truncated",
     [] {
       std::string file = Sample();
       file.pop_back();
       return file;
     }},
    {"C2_reserved_bytes", "reserved bytes of the header that are not zero", kLoss,
     "reserved bytes at 40 are 7", [] { return WithHeader<uint64_t>(40, 7); }},
    {"C2_header_damaged", "a bit of the header flipped", kLoss, "the header is damaged",
     [] {
       std::string file = Sample();
       file[20] ^= 1;
       return file;
     }},
    {"C2_metadata_damaged", "a bit of the metadata flipped", kLoss, "the metadata is damaged",
     [] {
       std::string file = Sample();
       file[kHeaderBytes + 5] ^= 1;
       return file;
     }},
    {"C2_padding", "something between two segments", kInvalid, "the padding before it",
     [] {
       std::string file = Sample();
       // The last segment begins at a multiple of its alignment; the byte before is padding.
       const size_t last = (file.size() - 1) / kSegmentAlignment * kSegmentAlignment;
       file[last - 1] = 'x';
       return file;
     }},
    {"C7_newer_major", "format version 2.0", kNewer,
     "has format version 2.0, this reader reads version 1.0",
     [] { return WithHeader<uint32_t>(8, 2); }},
    {"C7_major_zero", "format version 0.0", kNewer,
     "has format version 0.0, this reader reads version 1.0",
     [] { return WithHeader<uint32_t>(8, 0); }},
    {"C7_major_max", "format version 2^32 - 1", kNewer, "has format version 4294967295.0",
     [] { return WithHeader<uint32_t>(8, ~uint32_t{0}); }},
    {"C8_wrong_magic", "another magic", kLoss, "not a program file: it begins with 50 45",
     [] { return "PELAY\r\n\x1a" + Sample().substr(8); }},
    {"C8_transferred_as_text", "CR LF became LF on the way", kLoss,
     "it is a Belay file that was damaged", [] { return "BELAY\n\x1a" + Sample().substr(8); }},
    {"C8_companion_magic", "a companion file in the program's place", kLoss,
     "it is a companion file", [] { return "BELAY\r\n\x1c" + Sample().substr(8); }},
    {"C8_zip", "a zip file's first bytes", kLoss, "it is a zip file",
     [] { return "PK\3\4" + std::string(100, '\0'); }},
    {"T2_string_runs_out", "a string that is longer than the metadata", kLoss,
     "not a Protocol Buffers message", [] { return FileOfMetadata(LengthField(1, 5, "abc")); }},
    {"T2_string_not_utf8", "a method's name that is not UTF-8", kLoss,
     "not a Protocol Buffers message",
     [] { return FileOfMetadata(BytesField(5, BytesField(1, "\xff\xfe"))); }},
    {"T2_varint_without_end", "a number of 11 bytes", kLoss, "not a Protocol Buffers message",
     [] { return FileOfMetadata("\x08" + std::string(10, '\x80') + "\x01"); }},
    {"T2_field_zero", "a field of number 0", kLoss, "not a Protocol Buffers message",
     [] { return FileOfMetadata(std::string("\x00\x01", 2)); }},
    {"T2_wrong_wire_type_of_group", "a group that never ends", kLoss,
     "not a Protocol Buffers message", [] { return FileOfMetadata(Varint(1000 << 3 | 3)); }},
    {"T2_field_twice", "two producers", kLoss, "field 1: it occurs twice",
     [] { return FileOfMetadata(BytesField(1, "a") + BytesField(1, "b")); }},
    {"T2_other_wire_type", "a producer that is a number", kLoss,
     "field 1: it has another wire type than its declaration",
     [] { return FileOfMetadata(std::string("\x08\x01", 2)); }},
    {"T2_number_of_33_bits", "a debug segment of 33 bits", kLoss,
     "field 7: the number has more than 32 bits",
     [] { return FileOfMetadata("\x38\x80\x80\x80\x80\x10"); }},
    {"T2_numbers_not_packed", "outputs one by one", kLoss,
     "methods[0], field 4: it has another wire type than its declaration",
     [] { return FileOfMetadata(BytesField(5, BytesField(1, "f") + "\x20\x01")); }},
    {"T2_packed_number_without_end", "an output that has no end", kLoss,
     "methods[0].outputs: a number is unterminated",
     [] { return FileOfMetadata(BytesField(5, BytesField(1, "f") + BytesField(4, "\x80"))); }},
    {"T2_bool_of_2", "a bool encoded as 2", kLoss,
     "methods[0].values[0], field 4: a bool is 0 or 1",
     [] { return FileOfMetadata(BytesField(5, BytesField(1, "f") + BytesField(2, "\x20\x02"))); }},
    {"T2_two_of_oneof", "a value that is an int and a bool", kLoss,
     "methods[0].values[0], field 4: another member of its oneof is present",
     [] {
       return FileOfMetadata(BytesField(5, BytesField(1, "f") + BytesField(2, "\x10\x01\x20\x01")));
     }},
    {"P1_string_of_1_GiB", "160 bytes that declare a string of 1 GiB", kLoss,
     "not a Protocol Buffers message",
     [] { return FileOfMetadata(LengthField(1, uint64_t{1} << 30, std::string(80, 'x'))); }},
    {"P1_string_of_2_63", "a string of 2^63 bytes", kLoss, "not a Protocol Buffers message",
     [] { return FileOfMetadata(LengthField(1, uint64_t{1} << 63, std::string(80, 'x'))); }},
    {"P1_packed_numbers_of_1_GiB", "a packed list that declares 1 GiB", kLoss,
     "not a Protocol Buffers message",
     [] { return FileOfMetadata(BytesField(5, LengthField(4, uint64_t{1} << 30, "\1\2\3"))); }},
    {"P2_nesting_60", "60 levels of messages", kExhausted, "deeper than the limit 'nesting' of 20",
     [] {
       std::string groups;
       for (int i = 0; i < 60; ++i) groups += Varint(1000 << 3 | 3);
       for (int i = 0; i < 60; ++i) groups += Varint(1000 << 3 | 4);
       return FileOfMetadata(groups);
     }},
    {"P2_nesting_10000", "10000 levels of messages", kExhausted,
     "deeper than the limit 'nesting' of 20",
     [] {
       std::string groups;
       for (int i = 0; i < 10000; ++i) groups += Varint(1000 << 3 | 3);
       return FileOfMetadata(groups);
     }},
};

const ProgramEdit kEdits[] = {
    {"C3_segment_size_wraps", "offset + size of a segment wraps", kInvalid,
     "segments[4]: 18446744073709551552 bytes at",
     BELAY_EDIT(program.mutable_segments(4)->set_size(kMax64 - 63))},
    {"C3_segment_beyond_file", "a segment of one byte too many", kInvalid, "segments[4]:",
     BELAY_EDIT(program.mutable_segments(4)->set_size(program.segments(4).size() + 1))},
    {"C4_segment_offset_near_max", "a segment near 2^64", kInvalid, "segments[4].offset",
     BELAY_EDIT(program.mutable_segments(4)->set_offset(kMax64 - 127))},
    {"C4_named_data_wraps", "offset + size within a segment wraps", kInvalid,
     "named_data[0]: 2 bytes at",
     BELAY_EDIT(program.mutable_named_data(0)->set_offset(kMax64);
                program.mutable_named_data(0)->set_size(2))},
    {"C4_triple_sum_wraps", "segment + offset + size of a constant wraps", kInvalid,
     "constants[0]: 24 bytes at 18446744073709551424 are not inside the 24",
     BELAY_EDIT(program.mutable_constants(0)->set_offset(kMax64 - 191))},
    {"C5_segments_absent", "no segments, but the header says where they begin", kInvalid,
     "segments: they end at", BELAY_EDIT(program.clear_segments())},
    {"C5_segment_removed", "the last segment is not listed", kInvalid, "segments: they end at",
     BELAY_EDIT(program.mutable_segments()->RemoveLast(); program.clear_debug_segment())},
    {"C6_segments_overlap", "two segments at one offset", kInvalid, "segments[1].offset",
     BELAY_EDIT(program.mutable_segments(1)->set_offset(program.segments(0).offset()))},
    {"C7_required_feature", "a feature that this reader does not know", kNewer,
     "the program needs features that this reader does not know: 'time travel'",
     BELAY_EDIT(program.add_required_features("time travel"))},
    {"C5_named_constant_alone", "a constant of a missing enclosing program", kMissing,
     "constants[0]: named data 'w': not in the program",
     BELAY_EDIT(program.add_required_features("named_constants");
                program.mutable_constants(0)->set_named_data("w"))},
    {"C7_named_constant_undeclared", "such a constant without the feature", kInvalid,
     "the program does not require the feature 'named_constants'",
     BELAY_EDIT(program.mutable_constants(0)->set_named_data("w"))},
    {"A1_segment_alignment_2_63", "aligning a segment wraps", kInvalid, "segments[1].offset",
     BELAY_EDIT(program.mutable_segments(1)->set_alignment(uint64_t{1} << 63))},
    {"A1_segment_alignment_2_30", "an alignment of 1 GiB", kInvalid, "segments[1].offset",
     BELAY_EDIT(program.mutable_segments(1)->set_alignment(uint64_t{1} << 30))},
    {"A1_arena_of_2_64", "an arena of 2^64 - 1 bytes", kExhausted, "'reserved_bytes'",
     BELAY_EDIT(method.set_arena_bytes(kMax64))},
    {"A1_arena_and_state_wrap", "arena + state wraps", kExhausted, "'reserved_bytes'",
     BELAY_EDIT(method.set_arena_bytes(uint64_t{1} << 63);
                method.set_state_bytes(uint64_t{1} << 63))},
    {"A1_arena_of_32_TiB", "an arena of 2^45 bytes", kExhausted,
     "35184372088832 exceeds the limit 'reserved_bytes'",
     BELAY_EDIT(method.set_arena_bytes(uint64_t{1} << 45))},
    {"A1_state_of_1_TiB", "state of 2^40 bytes", kExhausted, "exceeds the limit 'arena_bytes'",
     BELAY_EDIT(method.set_state_bytes(uint64_t{1} << 40))},
    {"A2_constant_misaligned", "a constant at 4", kInvalid,
     "constants[0].offset: 4 is not a multiple of 64",
     BELAY_EDIT(program.mutable_constants(0)->set_offset(4))},
    {"A2_segment_alignment_no_power", "an alignment of 192", kInvalid, "segments[0].alignment: 192",
     BELAY_EDIT(program.mutable_segments(0)->set_alignment(192))},
    {"A2_segment_alignment_zero", "an alignment of 0", kInvalid, "segments[0].alignment: 0",
     BELAY_EDIT(program.mutable_segments(0)->set_alignment(0))},
    {"A2_segment_misaligned", "a segment 64 bytes after its expected offset", kInvalid,
     "segments[1].offset",
     BELAY_EDIT(program.mutable_segments(1)->set_offset(program.segments(1).offset() + 64))},
    {"A2_named_data_misaligned", "misaligned named data", kInvalid,
     "named_data[0].alignment: offset 1",
     BELAY_EDIT(program.mutable_named_data(0)->set_alignment(8);
                program.mutable_named_data(0)->set_offset(1);
                program.mutable_named_data(0)->set_size(1))},
    {"A2_arena_misaligned", "a tensor at 8 in the arena", kInvalid,
     "tensor.arena_offset: 8 is not a multiple of 64",
     BELAY_EDIT(TensorAt(method, v.total).set_arena_offset(8))},
    {"B1_constant_above_data", "a constant of more bytes than its segment", kInvalid,
     "constants[0]: 25 bytes at 0 are not inside the 24",
     BELAY_EDIT(program.mutable_constants(0)->set_size(25))},
    {"B1_constant_below_tensor", "a tensor larger than its constant", kInvalid,
     "constant 0 has 20 bytes, the tensor float32[2,3] has 24",
     BELAY_EDIT(program.mutable_constants(0)->set_size(20))},
    {"P1_duplicate_key", "named data twice", kInvalid,
     "named_data[1].key: 'lookup' does not come after 'lookup'",
     BELAY_EDIT(*program.add_named_data() = program.named_data(0))},
    {"P1_empty_key", "named data without a name", kInvalid, "named_data[0].key: is empty",
     BELAY_EDIT(program.mutable_named_data(0)->clear_key())},
    {"P1_alignment_2_30", "named data aligned to 2^30", kInvalid, "named_data[0].alignment",
     BELAY_EDIT(program.mutable_named_data(0)->set_alignment(uint64_t{1} << 30))},
    {"P1_data_above_declared", "named data of another size than their tensor", kInvalid,
     "named_data[0].layout: a tensor of 12 bytes, the data has 11",
     BELAY_EDIT(schema::TensorLayout* layout = program.mutable_named_data(0)->mutable_layout();
                layout->set_dtype(1); layout->add_sizes(12);
                layout->set_dim_order(std::string("\0", 1)))},
    {"P3_companion_above_root", "a companion file outside the directory", kInvalid,
     "segments[0].companion: '../weights'",
     BELAY_EDIT(program.mutable_segments(0)->set_companion("../weights"))},
    {"P3_companion_absolute", "a companion file by absolute path", kInvalid,
     "segments[0].companion: '/etc/passwd'",
     BELAY_EDIT(program.mutable_segments(0)->set_companion("/etc/passwd"))},
    {"P3_companion_dot_dot", "a companion file called '..'", kInvalid, "segments[0].companion",
     BELAY_EDIT(program.mutable_segments(0)->set_companion(".."))},
    {"P3_companion_backslash", "a companion file by a path of Windows", kInvalid,
     "segments[0].companion", BELAY_EDIT(program.mutable_segments(0)->set_companion("..\\w"))},
    {"P3_companion_nul", "a companion file with a NUL in its name", kInvalid,
     "segments[0].companion",
     BELAY_EDIT(program.mutable_segments(0)->set_companion(std::string("a\0b", 3)))},
    {"P3_companion_name_long", "a name of 256 bytes", kInvalid, "segments[0].companion",
     BELAY_EDIT(program.mutable_segments(0)->set_companion(std::string(256, 'a')))},
};

}  // namespace

std::vector<NegativeFile> ProgramContainerFiles() {
  std::vector<NegativeFile> files = FilesOf(kFrames, NegativeReader::kProgram, ".belay");
  Append(files, FilesOf(kEdits));
  // A program whose companion file is missing.
  TestProgram program;
  program.AddSegment(schema::Segment::NAMED_DATA, "weights", "elsewhere.data");
  files.push_back({.name = "P3_companion_missing.belay",
                   .reader = NegativeReader::kProgram,
                   .code = kMissing,
                   .message = "companion file 'elsewhere.data'",
                   .what = "a companion file that is missing",
                   .bytes = program.Serialize()});
  return files;
}

}  // namespace belay::fuzz
