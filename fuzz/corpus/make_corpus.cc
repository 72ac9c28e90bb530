// Writes the seeds into a folder: `bazel run //fuzz/corpus:make_corpus -- $PWD/fuzz/corpus`. Keeps
// files found by fuzzers; removes all other files that are not seeds from the corpora.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <system_error>

#include "fuzz/corpus/seeds.h"

int main(int argc, char** argv) {
  namespace fs = std::filesystem;
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
    return 2;
  }
  const fs::path root = argv[1];
  std::set<fs::path> written, corpora;
  for (const belay::fuzz::Seed& seed : belay::fuzz::AllSeeds()) {
    const fs::path path = root / seed.corpus / seed.name;
    std::error_code error;
    fs::create_directories(path.parent_path(), error);
    std::ofstream out(path, std::ios::binary | std::ios::trunc);
    out.write(seed.bytes.data(), static_cast<std::streamsize>(seed.bytes.size()));
    out.close();
    if (!out.good()) {
      std::fprintf(stderr, "cannot write %s\n", path.c_str());
      return 1;
    }
    written.insert(path);
    corpora.insert(path.parent_path());
  }
  for (const fs::path& corpus : corpora) {
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(corpus, error)) {
      if (written.contains(entry.path())) continue;
      if (entry.path().filename().string().starts_with(belay::fuzz::kFoundPrefix)) continue;
      fs::remove(entry.path(), error);
    }
  }
  std::printf("%zu seeds\n", written.size());
  return 0;
}
