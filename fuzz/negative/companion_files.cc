// Companion files, signatures and parameter files.
#include "fuzz/negative/companion_program.h"

#include <string>
#include <vector>

#include "fuzz/negative/negative_files.h"
#include "fuzz/negative/program_edits.h"
#include "fuzz/negative/raw_bytes.h"

namespace belay::fuzz {
namespace {

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr auto kLoss = absl::StatusCode::kDataLoss;
constexpr auto kNewer = absl::StatusCode::kUnimplemented;
constexpr auto kExhausted = absl::StatusCode::kResourceExhausted;
constexpr uint64_t kMax64 = ~uint64_t{0};

constexpr char kName[] = "model.data";

TestProgram WithCompanion() {
  TestProgram program;
  const uint32_t segment = program.AddSegment(schema::Segment::NAMED_DATA, "weights", kName);
  program.AddSegment(schema::Segment::CONSTANTS, std::string(300, 'w'), kName);
  schema::NamedData* data = program.metadata().add_named_data();
  data->set_key("w");
  data->set_segment(segment);
  data->set_size(7);
  return program;
}

std::string Valid() { return WithCompanion().SerializeCompanion(kName); }

template <class T>
std::string WithHeader(size_t at, T value) {
  std::string file = Valid();
  PutNumber<T>(file, at, value);
  FixHeaderChecksum(file);
  return file;
}

std::string Signature() {
  const std::string program = SignedProgram();
  return Sign(
      absl::MakeConstSpan(reinterpret_cast<const std::byte*>(program.data()), program.size()),
      SigningKey());
}

constexpr NegativeBytes kCompanions[] = {
    {"C1_header_short", "63 bytes of a header", kLoss, "it has 63 bytes, a header has 64",
     [] { return Valid().substr(0, 63); }},
    {"C1_empty", "no bytes", kLoss, "it has 0 bytes", [] { return std::string(); }},
    {"C2_declared_size_larger", "the header declares more bytes than there are", kLoss,
     "the companion file is truncated", [] { return WithHeader<uint64_t>(16, 100000); }},
    {"C2_declared_size_smaller", "bytes after the declared end", kLoss,
     "the companion file is too long", [] { return WithHeader<uint64_t>(16, 100); }},
    {"C2_reserved_bytes", "reserved bytes that are not zero", kLoss, "reserved bytes at 48 are 1",
     [] { return WithHeader<uint64_t>(48, 1); }},
    {"C3_digests_cut_off", "the table of digests does not fit", kLoss,
     "the digests of 2 segments do not fit into a file of 100",
     [] {
       std::string file = WithHeader<uint64_t>(16, 100).substr(0, 100);
       FixHeaderChecksum(file);
       return file;
     }},
    {"C4_segments_cut_off", "the last segment is cut off", kInvalid, "are not inside the",
     [] {
       const std::string file = WithHeader<uint64_t>(16, Valid().size() - 100);
       return file.substr(0, file.size() - 100);
     }},
    {"C4_bytes_behind", "bytes after the last segment", kInvalid, "segments: they end at",
     [] { return WithHeader<uint64_t>(16, Valid().size() + 1) + "x"; }},
    {"C5_segments_absent", "a companion of no segments", kLoss,
     "it has 0 segments, the program file lists 2", [] { return WithHeader<uint64_t>(24, 0); }},
    {"C6_count_wraps", "2^59 segments, whose digests have 2^64 bytes", kLoss,
     "it has 576460752303423488 segments",
     [] { return WithHeader<uint64_t>(24, uint64_t{1} << 59); }},
    {"C6_size_above_32_bits", "2^32 bytes more than there are", kLoss,
     "the companion file is truncated",
     [] { return WithHeader<uint64_t>(16, Valid().size() + (uint64_t{1} << 32)); }},
    {"C6_size_near_max", "2^64 - 1 bytes", kLoss, "the companion file is truncated",
     [] { return WithHeader<uint64_t>(16, kMax64); }},
    {"C7_newer_major", "format version 2.0", kNewer,
     "the companion file has format version 2.0, this reader reads version 1.0",
     [] { return WithHeader<uint32_t>(8, 2); }},
    {"C8_program_magic", "a program file in the companion's place", kLoss, "not a companion file",
     [] { return "BELAY\r\n\x1a" + Valid().substr(8); }},
    {"C8_wrong_magic", "another magic", kLoss, "not a companion file",
     [] { return std::string(500, 'x'); }},
    {"B1_other_weights", "a companion written again with other weights", kLoss,
     "belongs to another program: the digest of its segment 0",
     [] {
       TestProgram other;
       other.AddSegment(schema::Segment::NAMED_DATA, "Weights", kName);
       other.AddSegment(schema::Segment::CONSTANTS, std::string(300, 'w'), kName);
       return other.SerializeCompanion(kName);
     }},
    {"B2_fewer_segments", "a companion of another number of segments", kLoss,
     "it has 1 segments, the program file lists 2",
     [] {
       TestProgram other;
       other.AddSegment(schema::Segment::NAMED_DATA, "weights", kName);
       return other.SerializeCompanion(kName);
     }},
    {"D1_digest_table_damaged", "a damaged digest", kLoss, "the digest table is damaged",
     [] {
       std::string file = Valid();
       file[70] ^= 1;
       return file;
     }},
    {"P1_padding", "something between two segments", kInvalid, "the padding before it",
     [] {
       std::string file = Valid();
       file[200] = 'x';
       return file;
     }},
    {"P1_larger_than_allowed", "a file above the limit", kExhausted, "'file_bytes'",
     [] { return Valid() + std::string(20000, '\0'); }},
};

constexpr NegativeBytes kSignatures[] = {
    {"C1_short", "103 bytes of 104", kLoss, "it has 103 bytes, expected 104",
     [] { return Signature().substr(0, 103); }},
    {"C1_empty", "no bytes", kLoss, "it has 0 bytes, expected 104", [] { return std::string(); }},
    {"C2_long", "a byte after the signature", kLoss, "it has 105 bytes, expected 104",
     [] { return Signature() + "x"; }},
    {"C8_wrong_magic", "another magic", kLoss, "with 'BELAYSIG' at the start",
     [] { return "BELAYSAG" + Signature().substr(8); }},
    {"T4_unknown_key", "a key that is not trusted", absl::StatusCode::kPermissionDenied,
     "which is not among the 1 trusted keys",
     [] {
       std::string file = Signature();
       file[10] ^= 1;
       return file;
     }},
    {"B1_other_program", "the signature of other bytes", kLoss, "is not of these bytes",
     [] {
       std::string file = Signature();
       file[50] ^= 1;
       return file;
     }},
};

void AddTensor(const std::string& key, const Sizes& sizes, TestProgram& program,
               DType dtype = DType::kFloat32, bool replaceable = true) {
  uint64_t bytes = 4;
  for (int d = 0; d < sizes.size(); ++d) bytes *= static_cast<uint64_t>(sizes[d]);
  program.AddNamedTensor(key, std::string(bytes, 'w'), dtype, sizes, replaceable);
}

std::string ParameterFile(const std::string& key, const Sizes& sizes,
                          DType dtype = DType::kFloat32) {
  TestProgram program;
  AddTensor(key, sizes, program, dtype);
  return program.Serialize();
}

constexpr NegativeBytes kParameters[] = {
    {"C1_header_short", "63 bytes of a header", kLoss, "63 bytes",
     [] { return ParameterFile("w", {2, 3}).substr(0, 63); }},
    {"C5_tensor_absent", "a layout whose data is missing", kInvalid, "segment 0 does not exist",
     [] {
       TestProgram program;
       schema::NamedData* data = program.metadata().add_named_data();
       data->set_key("w");
       data->set_size(24);
       return program.Serialize();
     }},
    {"C8_other_magic", "a companion file", kLoss, "not a program file", [] { return Valid(); }},
    {"T1_layout_absent", "data without a layout", kInvalid, "'w' has no layout",
     [] {
       TestProgram program;
       program.AddNamedData("w", std::string(24, 'w'));
       return program.Serialize();
     }},
    {"T3_with_methods", "a program with a method", kInvalid, "which has no methods",
     [] {
       TestProgram program;
       program.AddMethod("forward");
       return program.Serialize();
     }},
    {"T4_unknown_tensor", "a name that the program does not have", kInvalid,
     "unknown parameters 'v'", [] { return ParameterFile("v", {2, 3}); }},
    {"T4_fixed_data", "data that is not replaceable", kInvalid,
     "the program does not allow to replace it", [] { return ParameterFile("fixed", {1}); }},
    {"N1_other_sizes", "more elements", kInvalid, "expected float32 [2,3], got float32 [2,4]",
     [] { return ParameterFile("w", {2, 4}); }},
    {"N1_other_dtype", "elements of another type and the same size", kInvalid,
     "expected float32 [2,3], got int32 [2,3]",
     [] { return ParameterFile("w", {2, 3}, DType::kInt32); }},
    {"N4_other_order", "columns first", kInvalid, "got float32 [2,3], not row-major",
     [] {
       TestProgram program;
       AddTensor("w", {2, 3}, program);
       program.metadata().mutable_named_data(0)->mutable_layout()->set_dim_order(
           std::string("\1\0", 2));
       return program.Serialize();
     }},
    {"P2_size_of_data", "fewer bytes than the layout says", kInvalid, "a tensor of 24 bytes",
     [] {
       TestProgram program;
       AddTensor("w", {2, 3}, program);
       program.metadata().mutable_named_data(0)->set_size(20);
       return program.Serialize();
     }},
};

}  // namespace

std::string ReplaceableProgram() {
  TestProgram program;
  AddTensor("fixed", {1}, program, DType::kFloat32, /*replaceable=*/false);
  AddTensor("w", {2, 3}, program);
  return program.Serialize();
}

std::string CompanionProgram() { return WithCompanion().Serialize(); }

std::string SignedProgram() {
  TestProgram program;
  program.metadata().set_producer("signed");
  return program.Serialize();
}

Ed25519SecretKey SigningKey() {
  Ed25519SecretKey key;
  key.seed.fill(7);
  return key;
}

std::vector<NegativeFile> CompanionFiles() {
  std::vector<NegativeFile> files = FilesOf(kCompanions, NegativeReader::kCompanion, ".data");
  Append(files, FilesOf(kSignatures, NegativeReader::kSignature, ".sig"));
  Append(files, FilesOf(kParameters, NegativeReader::kParameters, ".params"));
  struct Placed {
    const char* name;
    const char* what;
    const char* message;
    NegativePlacement placement;
  };
  constexpr Placed kPlaced[] = {
      {"P3_symbolic_link.data", "a valid companion through a symbolic link", "is a symbolic link",
       NegativePlacement::kSymbolicLink},
      {"P3_hard_link.data", "a right companion with a second name", "links to the same file",
       NegativePlacement::kHardLink},
      {"P3_directory.data", "a directory", "is not a regular file", NegativePlacement::kDirectory},
  };
  for (const Placed& row : kPlaced) {
    files.push_back({.name = row.name,
                     .reader = NegativeReader::kCompanion,
                     .code = kInvalid,
                     .message = row.message,
                     .what = row.what,
                     .bytes = Valid(),
                     .placement = row.placement});
  }
  return files;
}

}  // namespace belay::fuzz
