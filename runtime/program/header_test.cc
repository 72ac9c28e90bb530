#include "runtime/program/header.h"

#include <zlib.h>

#include <ostream>
#include <string>

#include "runtime/core/first_bytes.h"
#include "runtime/core/testing.h"
#include "runtime/executor/testing/program_builder.h"
#include "runtime/executor/testing/sample_program.h"
#include "runtime/schema/file_format.h"

namespace belay {
namespace {

using ::testing::HasSubstr;

constexpr auto kLoss = absl::StatusCode::kDataLoss;
constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr auto kExhausted = absl::StatusCode::kResourceExhausted;
constexpr auto kNewer = absl::StatusCode::kUnimplemented;

template <class T>
void Store(std::string& file, size_t at, T value) {
  for (size_t i = 0; i < sizeof(T); ++i) file[at + i] = static_cast<char>(value >> (8 * i));
}

uint64_t MetadataSize(const std::string& file) {
  uint64_t size = 0;
  for (int i = 7; i >= 0; --i) size = size << 8 | static_cast<uint8_t>(file[16 + i]);
  return size;
}

// --- One case per rule of header and file layout ---

struct FrameCase {
  const char* name;
  void (*damage)(std::string& file);
  bool fix_checksums;
  absl::StatusCode code;
  const char* message;
};
void PrintTo(const FrameCase& c, std::ostream* out) { *out << c.name; }

const FrameCase kFrameCases[] = {
    {"C1Empty", [](std::string& f) { f.clear(); }, false, kLoss, "it has 0 bytes"},
    {"C1ShorterThanHeader", [](std::string& f) { f.resize(63); }, false, kLoss, "it has 63 bytes"},
    {"C1HeaderOnly", [](std::string& f) { f.resize(64); }, false, kLoss, "truncated: 64 bytes"},
    {"C8WrongMagic", [](std::string& f) { f[0] = 'b'; }, true, kLoss, "it begins with 62 45"},
    {"C8TextModeTransfer", [](std::string& f) { f.erase(5, 1); }, false, kLoss,
     "damaged by a text-mode transfer"},
    {"HeaderDamaged", [](std::string& f) { f[41] = 1; }, false, kLoss, "the header is damaged"},
    {"MetadataDamaged", [](std::string& f) { f[70] ^= 1; }, false, kLoss, "metadata is damaged"},
    {"C7NewerMajor", [](std::string& f) { Store<uint32_t>(f, 8, 2); }, true, kNewer,
     "version 2.0, this reader reads version 1.0"},
    {"OlderMajor", [](std::string& f) { Store<uint32_t>(f, 8, 0); }, true, kNewer, "version 0.0"},
    {"C2SizeTooLarge", [](std::string& f) { Store<uint64_t>(f, 32, f.size() + 1); }, true, kLoss,
     "truncated"},
    {"C2SizeTooSmall", [](std::string& f) { Store<uint64_t>(f, 32, f.size() - 1); }, true, kLoss,
     "too long"},
    {"Truncated", [](std::string& f) { f.pop_back(); }, false, kLoss, "truncated"},
    {"TrailingByte", [](std::string& f) { f.push_back('\0'); }, false, kLoss, "too long"},
    {"ReservedAt40", [](std::string& f) { f[40] = 1; }, true, kLoss, "reserved bytes at 40"},
    {"ReservedAt48", [](std::string& f) { f[55] = 1; }, true, kLoss, "reserved bytes at 48"},
    {"MetadataNotAMessage",
     [](std::string& f) {
       for (size_t i = 0; i < MetadataSize(f); ++i) f[64 + i] = '\xff';
     },
     true, kLoss, "not a Protocol Buffers message"},
    {"C4FirstSegmentMoved", [](std::string& f) { Store<uint64_t>(f, 24, 128); }, true, kInvalid,
     "the header says 128"},
    {"C5NoFirstSegment", [](std::string& f) { Store<uint64_t>(f, 24, 0); }, true, kInvalid,
     "the header says 0"},
    {"PaddingNotZero", [](std::string& f) { f[64 + MetadataSize(f)] = 1; }, true, kInvalid,
     "padding before it"},
};

class FrameTest : public ::testing::TestWithParam<FrameCase> {};

TEST_P(FrameTest, IsRejected) {
  std::string file = SampleProgram().Serialize();
  GetParam().damage(file);
  if (GetParam().fix_checksums) FixHeader(file);
  EXPECT_THAT(OpenFileBytes(file), StatusIs(GetParam().code, HasSubstr(GetParam().message)));
}

INSTANTIATE_TEST_SUITE_P(Rules, FrameTest, ::testing::ValuesIn(kFrameCases),
                         [](const auto& info) { return info.param.name; });

// Sets the metadata size and fixes the header's checksum. The file has no bytes for the metadata's
// own checksum.
std::string WithMetadataSize(uint64_t size) {
  std::string file = SampleProgram().Serialize().substr(0, kHeaderBytes);
  Store<uint64_t>(file, 16, 0);
  Store<uint64_t>(file, 32, kHeaderBytes);
  FixHeader(file);
  Store<uint64_t>(file, 16, size);
  const auto crc = crc32(0, reinterpret_cast<const Bytef*>(file.data()), 60);
  Store<uint32_t>(file, 60, static_cast<uint32_t>(crc));
  return file;
}

// runtime/core, which depends on no other package, repeats the magics.
TEST(HeaderTest, FirstBytesIdentifyBelayFiles) {
  const auto describe = [](const char(&magic)[8]) {
    return DescribeFirstBytes(
        absl::MakeConstSpan(reinterpret_cast<const std::byte*>(magic), sizeof(magic)));
  };
  EXPECT_EQ(describe(kMagic), "it is a Belay program file");
  EXPECT_EQ(describe(kCompanionMagic), "it is a companion file of a Belay program");
}

TEST(HeaderTest, MetadataMustFitIntoTheFile) {
  EXPECT_THAT(OpenFileBytes(WithMetadataSize(1)), StatusIs(kLoss, HasSubstr("do not fit")));
}

TEST(HeaderTest, MetadataSizeDoesNotWrap) {
  Program::Options options;
  options.limits.metadata_bytes = ~uint64_t{0};
  EXPECT_THAT(OpenFileBytes(WithMetadataSize(~uint64_t{0} - 63), options),
              StatusIs(kExhausted, HasSubstr("'metadata_bytes' is 2147483647")));
}

TEST(HeaderTest, NewerMinorVersionIsAccepted) {
  std::string file = SampleProgram().Serialize();
  Store<uint32_t>(file, 12, 7);
  FixHeader(file);
  EXPECT_OK(OpenFileBytes(file));
}

TEST(HeaderTest, DeeplyNestedUnknownFieldsAreRejected) {
  std::string nested;
  for (int i = 0; i < 100000; ++i) nested += "\xfb\x01";  // field 31, group starts
  for (int i = 0; i < 100000; ++i) nested += "\xfc\x01";
  std::string file = TestProgram().Serialize();
  file += nested;
  Store<uint64_t>(file, 16, nested.size());
  Store<uint64_t>(file, 32, file.size());
  FixHeader(file);
  EXPECT_THAT(OpenFileBytes(file), StatusIs(absl::StatusCode::kResourceExhausted,
                                            HasSubstr("deeper than the limit 'nesting' of 20")));
}

}  // namespace
}  // namespace belay
