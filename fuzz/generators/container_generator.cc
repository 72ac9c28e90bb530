#include "fuzz/generators/container_generator.h"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "exir/import/testing/archive.h"
#include "exir/import/testing/zip_writer.h"
#include "runtime/core/str_cat.h"

namespace belay::fuzz {
namespace {

using exir::ZipWriterEnd;
using exir::ZipWriterEntry;

// In addition to those of exir::DefaultFiles.
constexpr std::string_view kMorePaths[] = {
    "data/weights/model.pt",
    "data/constants/model.pt",
    "serialized_exported_program.json",
    "serialized_state_dict.pt",
    "serialized_constants.pt",
    "serialized_state_dict.json",
    "serialized_constants.json",
    "version",
    "models/other.json",
    "data/aotinductor/model/x.so",
    "../outside",
    "models/",
    "a\\b",
    "",
};

void CorruptFields(ByteSource& source, ZipWriterEntry& entry) {
  const auto number = [&] { return static_cast<uint64_t>(source.Interesting()); };
  switch (source.Below(13)) {
    case 0:
      entry.more_flags = static_cast<uint16_t>(source.Number());
      break;
    case 1:
      entry.method = static_cast<uint16_t>(number());
      break;
    case 2:
      entry.crc32 = static_cast<uint32_t>(number());
      break;
    case 3:
      entry.size = number();
      break;
    case 4:
      entry.compressed_size = number();
      break;
    case 5:
      entry.local_name = std::string(source.Text(24));
      break;
    case 6:
      entry.local_crc32 = static_cast<uint32_t>(number());
      break;
    case 7:
      entry.local_size = static_cast<uint32_t>(number());
      break;
    case 8:
      entry.local_method = static_cast<uint16_t>(number());
      break;
    case 9:
      entry.header_offset = static_cast<uint32_t>(number());
      break;
    case 10:
      entry.disk = static_cast<uint16_t>(number());
      break;
    case 11:
      entry.unix_mode = static_cast<uint32_t>(number());
      break;
    default:
      entry.name = std::string(source.Text(24));
  }
}

void CorruptFields(ByteSource& source, ZipWriterEnd& end) {
  const auto number = [&] { return static_cast<uint64_t>(source.Interesting()); };
  switch (source.Below(6)) {
    case 0:
      end.comment = std::string(source.Text(32));
      break;
    case 1:
      end.entries = static_cast<uint16_t>(number());
      break;
    case 2:
      end.directory_size = static_cast<uint32_t>(number());
      break;
    case 3:
      end.directory_offset = static_cast<uint32_t>(number());
      break;
    case 4:
      end.zip64_entries = number();
      break;
    default:
      end.disk = static_cast<uint16_t>(number());
  }
}

}  // namespace

std::string GenerateContainer(ByteSource& source) {
  constexpr std::string_view kRoots[] = {"model/", "archive/", ""};
  const std::string_view root = source.Pick(kRoots);
  const exir::ArchiveFiles files = exir::DefaultFiles(exir::ProgramJson());
  std::vector<ZipWriterEntry> entries;
  const auto add = [&](std::string_view path, std::string content) {
    ZipWriterEntry entry;
    entry.name = absl::StrCat(root, path);
    entry.content = std::move(content);
    entry.deflate = source.Chance(30);
    entry.streamed = source.Chance(50);
    entry.alignment = source.Chance(30) ? 64 : 0;
    entry.zip64 = source.Chance(15);
    if (source.Chance(8)) CorruptFields(source, entry);
    entries.push_back(std::move(entry));
  };
  // Entries of a valid archive; some are omitted or have other contents.
  for (const auto& [path, content] : files) {
    if (source.Chance(6)) continue;
    add(path, source.Chance(10) ? std::string(source.Text(256)) : content);
  }
  for (uint64_t more = source.Below(4); more > 0; --more) {
    const std::string_view path = source.Pick(kMorePaths);
    add(path, std::string(source.Text(256)));
  }
  ZipWriterEnd end;
  end.zip64 = source.Chance(30);
  if (source.Chance(10)) CorruptFields(source, end);
  return exir::WriteZip(entries, end);
}

std::string TorchSaveFile(std::string pickle) {
  std::vector<ZipWriterEntry> entries;
  const auto add = [&](std::string_view name, std::string content) {
    ZipWriterEntry entry;
    entry.name = absl::StrCat("archive/", name);
    entry.content = std::move(content);
    entry.streamed = true;
    entry.alignment = 64;
    entries.push_back(std::move(entry));
  };
  add("data.pkl", std::move(pickle));
  add("byteorder", "little");
  add("version", "3\n");
  add("data/0", std::string(64, '\1'));
  add("data/1", std::string(24, '\2'));
  add("data/2", "");
  ZipWriterEnd end;
  end.zip64 = true;
  return exir::WriteZip(entries, end);
}

}  // namespace belay::fuzz
