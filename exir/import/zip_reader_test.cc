#include "exir/import/zip_reader.h"

#include <string>
#include <vector>

#include "exir/import/testing/zip_writer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/str_cat.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kManyEntries = 1000;

absl::StatusOr<ZipReader> Open(const std::string& file, uint64_t max_entries = kManyEntries) {
  return ZipReader::Open(ToStorage(file), max_entries);
}

absl::Status OpenError(const std::vector<ZipWriterEntry>& entries, const ZipWriterEnd& end = {}) {
  return Open(WriteZip(entries, end)).status();
}

std::string_view Text(const Storage& storage) {
  return {reinterpret_cast<const char*>(storage.bytes.data()), storage.bytes.size()};
}

absl::StatusOr<Storage> ReadOnly(const std::string& file, uint64_t budget_bytes = 1 << 20,
                                 bool verify = true) {
  ABSL_ASSIGN_OR_RETURN(const ZipReader zip, Open(file));
  ByteBudget budget("max_inflated_bytes", budget_bytes);
  return zip.Read(zip.entries().front(), budget, verify);
}

TEST(ZipReaderTest, ReadsStoredEntriesInPlace) {
  const Storage file = ToStorage(
      WriteZip({{.name = "m/a", .content = "first"}, {.name = "m/b", .content = "second"}}));
  ASSERT_OK_AND_ASSIGN(const ZipReader zip, ZipReader::Open(file, kManyEntries));
  ASSERT_EQ(zip.entries().size(), 2u);
  EXPECT_EQ(zip.entries()[0].name, "m/a");
  ASSERT_NE(zip.Find("m/b"), nullptr);
  EXPECT_EQ(zip.Find("b"), nullptr);
  ByteBudget nothing("none", 0);
  ASSERT_OK_AND_ASSIGN(const Storage b, zip.Read(*zip.Find("m/b"), nothing, true));
  EXPECT_EQ(Text(b), "second");
  EXPECT_GE(b.bytes.data(), file.bytes.data());
  EXPECT_LT(b.bytes.data(), file.bytes.data() + file.bytes.size());
  EXPECT_EQ(b.owner, file.owner);
}

TEST(ZipReaderTest, ReadsPyTorchArchives) {
  const std::string file = WriteZip({{.name = "m/data",
                                      .content = std::string(100, 'x'),
                                      .streamed = true,
                                      .alignment = 64,
                                      .more_flags = 1 << 11}},
                                    {.zip64 = true});
  ASSERT_OK_AND_ASSIGN(const ZipReader zip, Open(file));
  EXPECT_EQ(zip.entries()[0].data_offset % 64, 0u);
  ASSERT_OK_AND_ASSIGN(const Storage content, ReadOnly(file));
  EXPECT_EQ(Text(content), std::string(100, 'x'));
}

TEST(ZipReaderTest, ReadsDeflatedEntries) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += std::to_string(i * i);
  ASSERT_OK_AND_ASSIGN(const Storage content,
                       ReadOnly(WriteZip({{.name = "a", .content = text, .deflate = true}})));
  EXPECT_EQ(Text(content), text);
  ASSERT_OK_AND_ASSIGN(const Storage empty,
                       ReadOnly(WriteZip({{.name = "a", .content = "", .deflate = true}})));
  EXPECT_EQ(Text(empty), "");
}

TEST(ZipReaderTest, ReadsZip64Fields) {
  ASSERT_OK_AND_ASSIGN(const Storage content,
                       ReadOnly(WriteZip({{.name = "a", .content = "abc", .zip64 = true}},
                                         {.zip64 = true,
                                          .entries = 0xffff,
                                          .directory_size = 0xffffffff,
                                          .directory_offset = 0xffffffff})));
  EXPECT_EQ(Text(content), "abc");
}

// An extra field: its id, its length, 8-byte numbers.
std::string ExtraField(int id, const std::vector<uint64_t>& numbers) {
  std::string out = {static_cast<char>(id), '\0', static_cast<char>(8 * numbers.size()), '\0'};
  for (uint64_t number : numbers) {
    for (int shift = 0; shift < 64; shift += 8) out.push_back(static_cast<char>(number >> shift));
  }
  return out;
}

constexpr uint32_t kSaturated = 0xffffffff;

// The field contains the saturated numbers, in the order size, compressed size, offset.
TEST(ZipReaderTest, ReadsSaturatedValuesFromZip64Fields) {
  const ZipWriterEntry kEntries[] = {
      {.name = "a",
       .content = "abc",
       .streamed = true,
       .size = kSaturated,
       .extra = ExtraField(1, {3})},
      {.name = "a",
       .content = "abc",
       .streamed = true,
       .compressed_size = kSaturated,
       .extra = ExtraField(1, {3})},
      {.name = "a", .content = "abc", .header_offset = kSaturated, .extra = ExtraField(1, {0})},
      // After fields of other programs.
      {.name = "a",
       .content = "abc",
       .header_offset = kSaturated,
       .extra = ExtraField(9, {77, 78}) + ExtraField(1, {0})},
      {.name = "a",
       .content = "abc",
       .local_size = kSaturated,
       .local_compressed_size = kSaturated,
       .local_extra = ExtraField(1, {3, 3})},
  };
  for (const ZipWriterEntry& entry : kEntries) {
    ASSERT_OK_AND_ASSIGN(const Storage content, ReadOnly(WriteZip({entry})));
    EXPECT_EQ(Text(content), "abc");
  }
}

TEST(ZipReaderTest, RejectsIncompleteZip64Fields) {
  const struct {
    std::string extra;
    std::string message;
  } kExtras[] = {
      {"", "'a': the zip64 field is missing"},
      {std::string("\1\0", 2), "'a': the zip64 field is missing"},
      {ExtraField(9, {77}), "'a': the zip64 field is missing"},
      // A field that exceeds the header.
      {ExtraField(1, {77}).substr(0, 11), "'a': the zip64 field is missing"},
      {ExtraField(1, {}), "'a': the zip64 field is too short"},
      {ExtraField(1, {3}), "'a': the zip64 field is too short"},
  };
  for (const auto& [extra, message] : kExtras) {
    EXPECT_THAT(OpenError({{.name = "a",
                            .content = "abc",
                            .streamed = true,
                            .size = kSaturated,
                            .compressed_size = kSaturated,
                            .extra = extra}}),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr(message)));
    EXPECT_THAT(OpenError({{.name = "a",
                            .content = "abc",
                            .local_size = kSaturated,
                            .local_compressed_size = kSaturated,
                            .local_extra = extra}}),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr(message)));
  }
}

// If sizes follow the data, local headers may be empty, saturated or correct.
TEST(ZipReaderTest, LocalHeadersOfStreamedEntriesMayBeEmpty) {
  const ZipWriterEntry kEntries[] = {
      {.name = "a",
       .content = "abc",
       .streamed = true,
       .local_size = kSaturated,
       .local_compressed_size = kSaturated},
      {.name = "a", .content = "abc", .streamed = true, .local_compressed_size = kSaturated},
      {.name = "a", .content = "abc", .streamed = true, .local_size = kSaturated},
      {.name = "a", .content = "abc", .streamed = true, .local_crc32 = 0x352441c2},
      {.name = "a",
       .content = "abc",
       .streamed = true,
       .local_crc32 = 0x352441c2,
       .local_size = 3,
       .local_compressed_size = 3},
  };
  for (const ZipWriterEntry& entry : kEntries) {
    ASSERT_OK_AND_ASSIGN(const Storage content, ReadOnly(WriteZip({entry})));
    EXPECT_EQ(Text(content), "abc");
  }
}

// Each number of the end record may be stored in the zip64 record, or not.
TEST(ZipReaderTest, ReadsSaturatedValuesFromZip64Record) {
  for (const ZipWriterEnd& end :
       {ZipWriterEnd{.zip64 = true}, ZipWriterEnd{.zip64 = true, .entries = 0xffff},
        ZipWriterEnd{.zip64 = true, .directory_size = kSaturated},
        ZipWriterEnd{.zip64 = true, .directory_offset = kSaturated}}) {
    ASSERT_OK_AND_ASSIGN(const Storage content,
                         ReadOnly(WriteZip({{.name = "a", .content = "abc"}}, end)));
    EXPECT_EQ(Text(content), "abc");
  }
}

TEST(ZipReaderTest, SkipsFoldersAndAcceptsComments) {
  ASSERT_OK_AND_ASSIGN(
      const ZipReader zip,
      Open(WriteZip({{.name = "m/"}, {.name = "m/a", .content = "a"}}, {.comment = "a comment"})));
  ASSERT_EQ(zip.entries().size(), 1u);
  EXPECT_EQ(zip.Find("m/"), nullptr);
}

TEST(ZipReaderTest, EmptyArchiveHasNoEntries) {
  ASSERT_OK_AND_ASSIGN(const ZipReader zip, Open(WriteZip({})));
  EXPECT_TRUE(zip.entries().empty());
}

TEST(ZipReaderTest, RejectsFilesWithoutEndRecord) {
  EXPECT_THAT(Open("PK"), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("2 bytes")));
  const std::string file = WriteZip({{.name = "a", .content = "abc"}});
  EXPECT_THAT(Open(file.substr(0, file.size() - 1)),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("truncated")));
  EXPECT_THAT(Open(file + "junk"), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("appended")));
  // Bytes before the archive shift every offset.
  EXPECT_THAT(Open("junk" + file),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("central directory")));
}

TEST(ZipReaderTest, RejectsInconsistentEndRecords) {
  const std::vector<ZipWriterEntry> one = {{.name = "a", .content = "abc"}};
  EXPECT_THAT(OpenError(one, {.entries = 2}),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("do not fit a central directory")));
  EXPECT_THAT(OpenError(one, {.entries = 60000}),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("max_zip_entries")));
  EXPECT_THAT(OpenError(one, {.entries = 0}),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("more than its 0 entries")));
  EXPECT_THAT(OpenError(one, {.directory_size = 0xfffffff0}),
              StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_THAT(OpenError(one, {.directory_offset = 0xfffffff0}),
              StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_THAT(OpenError(one, {.entries = 0xffff}),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("zip64")));
  EXPECT_THAT(OpenError(one, {.zip64 = true, .entries = 2}),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("contradict")));
  EXPECT_THAT(
      OpenError(one, {.zip64 = true, .entries = 0xffff, .zip64_entries = uint64_t{1} << 40}),
      StatusIs(absl::StatusCode::kResourceExhausted));
  for (const ZipWriterEnd& end :
       {ZipWriterEnd{.directory_size = 0xffffffff}, ZipWriterEnd{.directory_offset = 0xffffffff}}) {
    EXPECT_THAT(OpenError(one, end),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("a missing zip64 end record")));
  }
  for (const ZipWriterEnd& end : {ZipWriterEnd{.zip64 = true, .directory_size = 7},
                                  ZipWriterEnd{.zip64 = true, .directory_offset = 7}}) {
    EXPECT_THAT(OpenError(one, end),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("contradict")));
  }
  // The name is longer than the second entry's record.
  EXPECT_THAT(OpenError({{.name = std::string(60, 'a')}}, {.entries = 2}),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("no directory entry at offset")));
}

TEST(ZipReaderTest, RejectsMultiDiskArchives) {
  const std::vector<ZipWriterEntry> one = {{.name = "a", .content = "abc"}};
  for (const ZipWriterEnd& end :
       {ZipWriterEnd{.disk = 1}, ZipWriterEnd{.disk = 0, .directory_disk = 1},
        ZipWriterEnd{.disk = 0xffff, .directory_disk = 1}, ZipWriterEnd{.entries_on_disk = 2}}) {
    EXPECT_THAT(OpenError(one, end),
                StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("disks")));
  }
  // Numbers stored in zip64 fields.
  EXPECT_OK(OpenError({{.name = "a", .content = "abc", .zip64 = true, .disk = 0xffff}},
                      {.zip64 = true, .disk = 0xffff}));
}

TEST(ZipReaderTest, RejectsInvalidZip64Locators) {
  std::string file = WriteZip({{.name = "a", .content = "abc"}}, {.zip64 = true});
  const size_t offset = file.size() - 22 - 12;
  file[offset + 7] = '\x7f';
  EXPECT_THAT(Open(file), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("locator points")));
}

// The record has 56 bytes, its locator 20, the classic end record 22.
TEST(ZipReaderTest, RejectsInconsistentZip64Records) {
  const std::string good = WriteZip({{.name = "a", .content = "abc"}}, {.zip64 = true});
  const size_t end = good.size() - 22, locator = end - 20, record = locator - 56;
  const struct {
    size_t at;
    absl::StatusCode code;
    std::string message;
  } kLies[] = {
      {locator + 4, absl::StatusCode::kUnimplemented, "several disks"},
      {locator + 16, absl::StatusCode::kUnimplemented, "several disks"},
      {record + 4, absl::StatusCode::kDataLoss, "does not end where its locator begins"},
      {record + 16, absl::StatusCode::kUnimplemented, "several disks"},
      {record + 20, absl::StatusCode::kUnimplemented, "several disks"},
      {record + 24, absl::StatusCode::kUnimplemented, "several disks"},
  };
  EXPECT_OK(Open(good));
  for (const auto& [at, code, message] : kLies) {
    std::string file = good;
    file[at] = '\x7f';
    EXPECT_THAT(Open(file), StatusIs(code, HasSubstr(message))) << at;
  }
}

TEST(ZipReaderTest, RejectsZip64RecordsWhoseSizeOverflows) {
  std::string file = WriteZip({{.name = "a", .content = "abc"}}, {.zip64 = true});
  file.replace(file.size() - 22 - 20 - 56 + 4, 8, std::string(8, '\xff'));
  EXPECT_THAT(Open(file), StatusIs(absl::StatusCode::kDataLoss,
                                   HasSubstr("does not end where its locator begins")));
}

TEST(ZipReaderTest, RejectsMoreEntriesThanTheLimit) {
  const std::string file = WriteZip({{.name = "a"}, {.name = "b"}, {.name = "c"}});
  EXPECT_OK(Open(file, 3));
  EXPECT_THAT(Open(file, 2),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("max_zip_entries = 2")));
}

TEST(ZipReaderTest, RejectsNamesThatLeaveTheArchive) {
  for (const char* name :
       {"/etc/passwd", "../a", "m/../a", "m/..", "m\\a", "m//a", "./a", "a\nb", ""}) {
    EXPECT_THAT(OpenError({{.name = name}}),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("entry name")))
        << name;
  }
  EXPECT_THAT(OpenError({{.name = "/a"}}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("'/a' is absolute")));
  EXPECT_THAT(OpenError({{.name = "/a\x7f\n\x80"}}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("'/a" + std::string(3, '?') + "' is absolute")));
  EXPECT_THAT(OpenError({{.name = std::string(5000, 'a')}}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("'" + std::string(120, 'a') + "...' is too long")));
}

TEST(ZipReaderTest, RejectsDuplicatesAndOverlaps) {
  EXPECT_THAT(OpenError({{.name = "a"}, {.name = "a"}}),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("two entries")));
  EXPECT_THAT(OpenError({{.name = "a", .content = "abc"},
                         {.name = "a", .content = "abc", .header_offset = 0}}),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("overlap")));
}

TEST(ZipReaderTest, RejectsDirectoriesWithoutSignature) {
  std::string file = WriteZip({{.name = "a", .content = "abc"}});
  const size_t at = file.find("PK\x01\x02");
  ASSERT_NE(at, std::string::npos);
  file[at] = 'p';
  EXPECT_THAT(Open(file), StatusIs(absl::StatusCode::kDataLoss,
                                   HasSubstr(absl::StrCat("no directory entry at offset ", at))));
}

TEST(ZipReaderTest, RejectsSizesBeyondTheFile) {
  EXPECT_THAT(
      OpenError({{.name = "a", .content = "abc", .size = 1 << 30, .compressed_size = 1 << 30}}),
      StatusIs(absl::StatusCode::kDataLoss, HasSubstr("are not before")));
  EXPECT_THAT(OpenError({{.name = "a", .content = "abc", .header_offset = 0x7fffffff}}),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("no local header")));
  EXPECT_THAT(OpenError({{.name = "a", .content = "abc", .size = 2}}),
              StatusIs(absl::StatusCode::kDataLoss));
}

TEST(ZipReaderTest, RejectsLocalHeadersThatContradictTheDirectory) {
  const auto contradiction = StatusIs(absl::StatusCode::kDataLoss, HasSubstr("local header has"));
  EXPECT_THAT(OpenError({{.name = "a", .content = "abc", .local_name = "b"}}), contradiction);
  EXPECT_THAT(OpenError({{.name = "a", .content = "abc", .local_name = "aa"}}), contradiction);
  EXPECT_THAT(OpenError({{.name = "a", .content = "abc", .local_size = 4}}), contradiction);
  EXPECT_THAT(OpenError({{.name = "a", .content = "abc", .local_crc32 = 4}}), contradiction);
  EXPECT_THAT(OpenError({{.name = "a", .content = "abc", .local_compressed_size = 4}}),
              contradiction);
  EXPECT_THAT(OpenError({{.name = "a", .content = "abc", .local_method = 8}}), contradiction);
  EXPECT_THAT(
      OpenError({{.name = "a", .content = "abc", .streamed = true, .local_compressed_size = 4}}),
      contradiction);
  EXPECT_THAT(OpenError({{.name = "a", .content = "abc", .streamed = true, .local_size = 4}}),
              contradiction);
  EXPECT_THAT(OpenError({{.name = "a", .content = "abc", .streamed = true, .local_crc32 = 4}}),
              contradiction);
}

TEST(ZipReaderTest, RejectsUnsupportedFeatures) {
  EXPECT_THAT(OpenError({{.name = "a", .more_flags = 1}}),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("encrypted")));
  EXPECT_THAT(OpenError({{.name = "a", .more_flags = 1 << 5}}),
              StatusIs(absl::StatusCode::kUnimplemented,
                       HasSubstr("compression method 0; expected 0 (stored) or 8 (deflate)")));
  EXPECT_THAT(OpenError({{.name = "a", .method = 12}}),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("method 12")));
  EXPECT_THAT(OpenError({{.name = "a", .disk = 3}}),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("disks")));
  EXPECT_THAT(OpenError({{.name = "a", .unix_mode = 0120777}}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("symbolic link")));
  EXPECT_THAT(OpenError({{.name = "m/", .content = "x"}}),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("folder")));
}

TEST(ZipReaderTest, RejectsDamagedContent) {
  EXPECT_THAT(
      ReadOnly(WriteZip({{.name = "a", .content = "abc", .crc32 = 77}})),
      StatusIs(absl::StatusCode::kDataLoss, HasSubstr("checksum 352441c2, expected 0000004d")));
  EXPECT_OK(
      ReadOnly(WriteZip({{.name = "a", .content = "abc", .crc32 = 77}}), 0, /*verify=*/false));
  EXPECT_OK(ReadOnly(WriteZip({{.name = "a", .content = "abc", .crc32 = 0}})));
  EXPECT_THAT(ReadOnly(WriteZip({{.name = "a", .content = "abc", .method = 8}})),
              StatusIs(absl::StatusCode::kDataLoss));
}

TEST(ZipReaderTest, RejectsDeflatedContentOfAnotherSize) {
  const std::string text(500, 'a');
  for (uint64_t size : {499, 501, 100, 2000}) {
    EXPECT_THAT(ReadOnly(WriteZip({{.name = "a", .content = text, .deflate = true, .size = size}})),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("declared size")))
        << size;
  }
}

TEST(ZipReaderTest, RejectsBytesAfterDeflatedContent) {
  // One uncompressed block: final flag, length, inverted length, content.
  const std::string deflated = std::string("\1\3\0\xfc\xff", 5) + "abc";
  const auto entry = [](const std::string& content) {
    return WriteZip({{.name = "a",
                      .content = content,
                      .method = 8,
                      .crc32 = 0,
                      .size = 3,
                      .compressed_size = content.size()}});
  };
  ASSERT_OK_AND_ASSIGN(const Storage content, ReadOnly(entry(deflated)));
  EXPECT_EQ(Text(content), "abc");
  EXPECT_THAT(ReadOnly(entry(deflated + "d")),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("'a': zip: the deflated data are")));
}

TEST(ZipReaderTest, LimitsInflatedBytes) {
  const std::string bomb =
      WriteZip({{.name = "a", .content = std::string(1 << 20, 'a'), .deflate = true}});
  EXPECT_LT(bomb.size(), 3000u);
  EXPECT_THAT(ReadOnly(bomb, (1 << 20) - 1),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("max_inflated_bytes")));
  EXPECT_OK(ReadOnly(bomb, 1 << 20));
  // No deflate stream of a few bytes expands this much: no memory is allocated.
  EXPECT_THAT(OpenError({{.name = "a", .content = "abc", .deflate = true, .size = 2'200'000'000}}),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("2200000000 bytes")));
}

}  // namespace
}  // namespace belay::exir
