#include "fuzz/negative/program_edits.h"

#include <zlib.h>

#include <iterator>
#include <utility>

#include "fuzz/negative/raw_bytes.h"

namespace belay::fuzz {

std::vector<NegativeFile> FilesOf(absl::Span<const ProgramEdit> edits) {
  SampleIndices v;
  const TestProgram sample = SampleProgram(&v);
  std::vector<NegativeFile> files;
  for (const ProgramEdit& row : edits) {
    files.push_back({.name = std::string(row.name) + ".belay",
                     .reader = NegativeReader::kProgram,
                     .code = row.code,
                     .message = row.message,
                     .what = row.what,
                     .bytes = sample.Serialize([&](schema::Program& program) {
                       row.edit(program, *program.mutable_methods(0), v);
                     })});
  }
  return files;
}

std::vector<NegativeFile> FilesOf(absl::Span<const NegativeBytes> rows, NegativeReader reader,
                                  const std::string& extension) {
  std::vector<NegativeFile> files;
  for (const NegativeBytes& row : rows) {
    files.push_back({.name = row.name + extension,
                     .reader = reader,
                     .code = row.code,
                     .message = row.message,
                     .what = row.what,
                     .bytes = row.bytes()});
  }
  return files;
}

void Append(std::vector<NegativeFile>& files, std::vector<NegativeFile> more) {
  std::move(more.begin(), more.end(), std::back_inserter(files));
}

std::string FileOfMetadata(const std::string& metadata) {
  std::string file = TestProgram().Serialize() + metadata;
  PutNumber<uint64_t>(file, 16, metadata.size());
  PutNumber<uint64_t>(file, 32, file.size());
  FixHeader(file);
  return file;
}

void FixHeaderChecksum(std::string& file) {
  constexpr size_t kCovered = 60;
  PutNumber<uint32_t>(
      file, kCovered,
      static_cast<uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(file.data()), kCovered)));
}

}  // namespace belay::fuzz
