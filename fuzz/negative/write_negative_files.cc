// Writes the negative corpus and its table into a directory:
//
//   tools/bazel run //fuzz/negative:write_negative_files -- "$PWD/fuzz/negative/corpus"
//
// Entries that are not plain files (links) are only in the table.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "fuzz/negative/negative_files.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: write_negative_files DIRECTORY\n");
    return 2;
  }
  const std::filesystem::path directory = argv[1];
  std::error_code error;
  std::filesystem::remove_all(directory, error);
  std::filesystem::create_directories(directory, error);
  const std::vector<belay::fuzz::NegativeFile> files = belay::fuzz::NegativeFiles();
  size_t bytes = 0;
  for (const belay::fuzz::NegativeFile& file : files) {
    if (file.placement != belay::fuzz::NegativePlacement::kFile) continue;
    std::ofstream out(directory / file.name, std::ios::binary);
    out << file.bytes;
    if (!out.flush()) {
      std::fprintf(stderr, "cannot write %s\n", (directory / file.name).c_str());
      return 1;
    }
    bytes += file.bytes.size();
  }
  std::ofstream(directory / "INDEX.md") << belay::fuzz::NegativeIndex(files);
  std::printf("%zu files, %zu bytes\n", files.size(), bytes);
  return 0;
}
