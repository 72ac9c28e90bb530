// Classes C, P3 and P4 of `.pt2`: the zip file and its headers.
#include <string>
#include <utility>
#include <vector>

#include "exir/import/testing/archive.h"
#include "exir/import/testing/zip_writer.h"
#include "fuzz/negative/model_json.h"
#include "fuzz/negative/negative_files.h"
#include "fuzz/negative/program_edits.h"
#include "fuzz/negative/raw_bytes.h"

namespace belay::fuzz {
namespace {

using exir::ArchiveFiles;
using exir::WriteZip;
using exir::ZipWriterEnd;
using exir::ZipWriterEntry;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr auto kLoss = absl::StatusCode::kDataLoss;
constexpr auto kNewer = absl::StatusCode::kUnimplemented;
constexpr auto kExhausted = absl::StatusCode::kResourceExhausted;
constexpr auto kMissing = absl::StatusCode::kNotFound;

constexpr size_t kEndBytes = 22;
constexpr size_t kLocatorBytes = 20;

std::string Valid() { return exir::PackArchive(exir::DefaultFiles(ModelJson())); }

std::string WithEntry(const std::string& path, const std::string& content) {
  ArchiveFiles files = exir::DefaultFiles(ModelJson());
  exir::SetFile(files, path, &content);
  return exir::PackArchive(files);
}
std::string WithoutEntry(const std::string& path) {
  ArchiveFiles files = exir::DefaultFiles(ModelJson());
  exir::SetFile(files, path, nullptr);
  return exir::PackArchive(files);
}
// Returns a zip file with one entry whose headers are wrong.
std::string Malformed(ZipWriterEntry entry, const ZipWriterEnd& end = {}) {
  if (entry.name.empty()) entry.name = "m/archive_format";
  if (entry.content.empty()) entry.content = "pt2";
  return WriteZip({std::move(entry), {.name = "m/other", .content = "abc"}}, end);
}
// Overwrites an integer of the zip64 record. The classic end record is the last of the file; the
// zip64 record is at a fixed offset before it.
std::string WithZip64(size_t at, uint64_t value) {
  std::string file = Valid();
  constexpr size_t kRecordBytes = 56;
  PutNumber<uint64_t>(file, file.size() - kEndBytes - kLocatorBytes - kRecordBytes + at, value);
  return file;
}

constexpr NegativeBytes kArchives[] = {
    {"C1_empty", "no bytes", kLoss, "the file is empty", [] { return std::string(); }},
    {"C1_two_bytes", "only a signature", kLoss, "the file has 2 bytes, fewer than an end record",
     [] { return std::string("PK"); }},
    {"C1_truncated", "the last byte is missing", kLoss,
     "it is truncated, or something was appended",
     [] {
       std::string file = Valid();
       file.pop_back();
       return file;
     }},
    {"C1_directory_inside_end_record", "a directory that begins in the end record", kLoss,
     "the central directory (offset",
     [] { return Malformed({}, {.directory_offset = 0xfffffff0}); }},
    {"C2_directory_size", "a directory of 4 GiB", kLoss, "the central directory (offset",
     [] { return Malformed({}, {.directory_size = 0xfffffff0}); }},
    {"C2_something_appended", "bytes after the end record", kLoss, "something was appended",
     [] { return Valid() + "junk"; }},
    {"C2_something_before", "bytes before the archive", kLoss,
     "zip:", [] { return "PK\3\4junk" + Valid(); }},
    {"C3_local_offset", "a local header near 2^32", kLoss, "no local header at offset 4294967279",
     [] { return Malformed({.header_offset = 0xffffffef}); }},
    {"C3_size_beyond_directory", "an entry of more bytes than the file has", kLoss,
     "are not before the central directory",
     [] { return Malformed({.size = 100000, .compressed_size = 100000}); }},
    {"C4_zip64_directory_offset", "a directory near 2^64", kLoss,
     "zip:", [] { return WithZip64(48, ~uint64_t{0} - 100); }},
    {"C4_zip64_directory_size", "a directory of nearly 2^64 bytes", kLoss,
     "zip:", [] { return WithZip64(40, ~uint64_t{0} - 100); }},
    {"C4_zip64_locator", "an end record near 2^64", kLoss, "to which its locator points",
     [] {
       std::string file = Valid();
       PutNumber<uint64_t>(file, file.size() - kEndBytes - kLocatorBytes + 8, ~uint64_t{0} - 8);
       return file;
     }},
    {"C4_zip64_record_size", "an end record whose size wraps", kLoss,
     "does not end where its locator begins", [] { return WithZip64(4, ~uint64_t{0} - 3); }},
    {"C5_no_entries", "an end record without entries", kLoss, "more than its 0 entries",
     [] { return Malformed({}, {.entries = 0}); }},
    {"C5_empty_archive", "an empty zip file", kInvalid, "the archive is empty",
     [] { return WriteZip({}); }},
    {"C6_saturated_without_zip64", "a count of 2^16 - 1 without a zip64 record", kLoss,
     "refers to a missing zip64 end record", [] { return Malformed({}, {.entries = 0xffff}); }},
    {"C6_end_records_contradict", "two end records of different numbers", kLoss,
     "the two end records contradict each other",
     [] { return Malformed({}, {.zip64 = true, .entries = 5}); }},
    {"C6_zip64_entries_2_40", "2^40 entries", kExhausted, "more than max_zip_entries",
     [] {
       return Malformed({}, {.zip64 = true, .entries = 0xffff, .zip64_entries = uint64_t{1} << 40});
     }},
    {"C7_newer_schema", "schema version 9.0", kNewer,
     "the program has schema version 9.0; supported are",
     [] {
       return WithEntry("models/model.json",
                        ModelJson({{"\"major\": 8, \"minor\": 20", "\"major\": 9, \"minor\": 0"}}));
     }},
    {"C7_schema_negative", "schema version -1", kNewer, "the program has schema version -1.",
     [] { return WithEntry("models/model.json", ModelJson({{"\"major\": 8", "\"major\": -1"}})); }},
    {"C7_newer_archive", "archive_version 1", kNewer, "archive_version is 1; expected 0",
     [] { return WithEntry("archive_version", "1"); }},
    {"C7_newer_container", "container version 11", kNewer, "the container version is '11'",
     [] { return WithEntry(".data/version", "11"); }},
    {"C8_wrong_magic", "another magic", kInvalid,
     "not a .pt2 archive, which is a zip file: it begins with 58 4b",
     [] { return "XK" + Valid().substr(2); }},
    {"C8_pickle", "a pickle", kNewer, "the file is a pickle, not a .pt2 archive",
     [] { return std::string("\x80\x02}q\1."); }},
    {"C8_torchscript", "an archive of TorchScript", kNewer, "the file is a TorchScript archive",
     [] { return WriteZip({{.name = "m/constants.pkl", .content = "x"}}); }},
    {"C8_torch_save", "an archive of torch.save", kNewer, "the file is a torch.save archive",
     [] { return WriteZip({{.name = "m/data.pkl", .content = "x"}}); }},
    {"C8_other_format", "archive_format pt3", kNewer, "archive_format is 'pt3'; expected 'pt2'",
     [] { return WithEntry("archive_format", "pt3"); }},
    {"C8_big_endian", "big endian data", kNewer, "byteorder is 'big'",
     [] { return WithEntry("byteorder", "big"); }},
    {"C8_long_marker", "a marker of 1000 bytes", kInvalid, "expected at most 256",
     [] { return WithEntry("archive_format", std::string(1000, 'x')); }},
    {"T1_model", "an archive without a model", kMissing, "the archive has no model",
     [] { return WithoutEntry("models/model.json"); }},
    {"T1_weight", "a weight whose record is missing", kMissing, "data/weights/weight_0",
     [] { return WithoutEntry("data/weights/weight_0"); }},
    {"T1_version", "an archive without archive_version", kMissing, "archive_version",
     [] { return WithoutEntry("archive_version"); }},
    {"P3_dot_dot", "an entry above the root", kInvalid, "contains a '.' or '..' component",
     [] { return Malformed({.name = "m/../../etc/passwd"}); }},
    {"P3_absolute", "an entry by absolute path", kInvalid, "is absolute",
     [] { return Malformed({.name = "/etc/passwd"}); }},
    {"P3_backslash", "an entry by a path of Windows", kInvalid, "contains a backslash",
     [] { return Malformed({.name = "m\\a"}); }},
    {"P3_symbolic_link", "an entry that is a symbolic link", kInvalid, "is a symbolic link",
     [] { return Malformed({.content = "/etc/passwd", .unix_mode = 0120777}); }},
    {"P3_control_character", "an entry with a NUL in its name", kInvalid,
     "contains a control character", [] { return Malformed({.name = std::string("m/a\0b", 5)}); }},
    {"P3_outside_root", "an entry outside the archive's folder", kInvalid,
     "is outside the archive's folder",
     [] {
       return WriteZip({{.name = "m/archive_format", .content = "pt2"},
                        {.name = "other/archive_version", .content = "0"}});
     }},
    {"P4_directory_overflow", "more entries than the directory holds", kLoss,
     "entries do not fit a central directory", [] { return Malformed({}, {.entries = 60000}); }},
    {"P4_one_entry_more", "an entry more than there are", kLoss, "no directory entry at offset",
     [] { return Malformed({.name = "m/" + std::string(100, 'x')}, {.entries = 3}); }},
    {"P4_local_size", "a local header of another size than the directory", kLoss,
     "the local header has another size or checksum",
     [] { return Malformed({.local_size = 1000}); }},
    {"P4_local_name", "a local header of another name", kLoss, "the local header has another name",
     [] { return Malformed({.local_name = "m/archive_fOrmat"}); }},
    {"P4_local_checksum", "a local header of another checksum", kLoss,
     "the local header has another size or checksum", [] { return Malformed({.local_crc32 = 1}); }},
    {"P4_local_method", "a local header of another method", kLoss,
     "the local header has other flags or another method",
     [] { return Malformed({.local_method = 8}); }},
    {"P4_checksum", "content of another checksum", kLoss, "archive_format",
     [] { return Malformed({.crc32 = 1}); }},
    {"P4_declares_2_GB", "2.2 GB declared in a small file", kLoss, "declares 2200000000 bytes",
     [] { return Malformed({.deflate = true, .size = 2200000000}); }},
    {"P4_deflated_longer", "deflated data longer than declared", kLoss,
     "the deflated data are damaged",
     [] {
       return Malformed({.content = "pt2 and more than it says", .deflate = true, .size = 3});
     }},
    {"P4_deflated_shorter", "deflated data shorter than declared", kLoss,
     "the deflated data are damaged",
     [] { return Malformed({.content = "pt2", .deflate = true, .size = 30}); }},
    {"P4_deflated_garbage", "no deflated data at all", kLoss, "the deflated data are damaged",
     [] { return Malformed({.content = "\xff\xff\xff", .method = uint16_t{8}}); }},
    {"P4_duplicate", "two entries of one name", kLoss, "two entries are named",
     [] {
       return WriteZip({{.name = "m/archive_format", .content = "pt2"},
                        {.name = "m/archive_format", .content = "pt3"}});
     }},
    {"P4_overlap", "two entries at one offset", kLoss, "zip:",
     [] {
       return WriteZip({{.name = "m/a", .content = "pt2"},
                        {.name = "m/a", .content = "pt3", .header_offset = 0}});
     }},
    {"P4_encrypted", "an encrypted entry", kNewer, "is encrypted",
     [] { return Malformed({.more_flags = 1}); }},
    {"P4_method_99", "compression method 99", kNewer, "has compression method 99",
     [] { return Malformed({.method = uint16_t{99}}); }},
    {"P4_disks", "several disks", kNewer, "spread over several disks",
     [] { return Malformed({}, {.disk = 1}); }},
    {"P4_bomb", "64 MB of JSON in 64 kB", kExhausted, "max_json_bytes",
     [] {
       return WriteZip({{.name = "m/archive_format", .content = "pt2"},
                        {.name = "m/archive_version", .content = "0"},
                        {.name = "m/models/model.json",
                         .content = std::string(64 << 20, ' '),
                         .deflate = true}});
     }},
};

}  // namespace

std::vector<NegativeFile> ArchiveContainerFiles() {
  return FilesOf(kArchives, NegativeReader::kArchive, ".pt2");
}

}  // namespace belay::fuzz
