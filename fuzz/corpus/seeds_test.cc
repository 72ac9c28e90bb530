// The corpora contain exactly the seeds, byte for byte, and files found by fuzzers.
#include "fuzz/corpus/seeds.h"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <utility>

#include "gtest/gtest.h"

namespace belay::fuzz {
namespace {

namespace fs = std::filesystem;

constexpr char kUpdate[] =
    "tools/bazel run //fuzz/corpus:make_corpus -- $PWD/fuzz/corpus makes them again";

std::map<std::string, std::string> Files() {
  std::map<std::string, std::string> files;
  for (const fs::directory_entry& corpus : fs::directory_iterator("fuzz/corpus")) {
    if (!corpus.is_directory()) continue;
    for (const fs::directory_entry& file : fs::directory_iterator(corpus.path())) {
      std::ifstream in(file.path(), std::ios::binary);
      files[corpus.path().filename().string() + "/" + file.path().filename().string()] =
          std::string(std::istreambuf_iterator<char>(in), {});
    }
  }
  return files;
}

TEST(SeedsTest, MatchCorpus) {
  std::map<std::string, std::string> files = Files();
  for (const Seed& seed : AllSeeds()) {
    const std::string path = seed.corpus + "/" + seed.name;
    ASSERT_TRUE(files.contains(path)) << path << " is missing: " << kUpdate;
    EXPECT_TRUE(files[path] == seed.bytes) << path << " has other bytes: " << kUpdate;
    files.erase(path);
  }
  for (const auto& [path, bytes] : files) {
    EXPECT_NE(path.find(std::string("/") + std::string(kFoundPrefix)), std::string::npos)
        << path << " is not a seed: " << kUpdate;
  }
}

TEST(SeedsTest, AreFewAndSmall) {
  uint64_t total = 0;
  for (const auto& [path, bytes] : Files()) {
    EXPECT_LE(bytes.size(), 64u << 10) << path;
    total += bytes.size();
  }
  EXPECT_LE(total, 1u << 20);
}

TEST(SeedsTest, HaveUniqueNames) {
  std::map<std::string, int> names;
  for (const Seed& seed : AllSeeds()) ++names[seed.corpus + "/" + seed.name];
  for (const auto& [name, count] : names) EXPECT_EQ(count, 1) << name;
}

}  // namespace
}  // namespace belay::fuzz
