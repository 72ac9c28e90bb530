// Fixture for tests of files.
#ifndef BELAY_RUNTIME_CORE_TEST_IN_DIRECTORY_H_
#define BELAY_RUNTIME_CORE_TEST_IN_DIRECTORY_H_

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace belay {

// Gives each test an empty directory named after it.
class TestInDirectory : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::replace(name.begin(), name.end(), '/', '_');
    directory_ = std::filesystem::path(::testing::TempDir()) / name;
    std::filesystem::remove_all(directory_);
    std::filesystem::create_directories(directory_);
  }

  std::string Path(const std::string& name) const { return (directory_ / name).string(); }
  // Returns the path of the file.
  std::string Write(const std::string& name, const std::string& bytes) const {
    EXPECT_TRUE(std::ofstream(Path(name), std::ios::binary) << bytes) << Path(name);
    return Path(name);
  }
  // "" if the file does not exist.
  static std::string Read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }
  // Base names, sorted.
  std::vector<std::string> Files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
      names.push_back(entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  std::filesystem::path directory_;
};

}  // namespace belay

#endif  // BELAY_RUNTIME_CORE_TEST_IN_DIRECTORY_H_
