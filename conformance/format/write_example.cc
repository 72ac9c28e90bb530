// Updates the bytes of the example in a page: write_example FILE.md
#include <cstdio>
#include <string>

#include "conformance/format/example.h"
#include "runtime/core/mapped_file.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: write_example FILE.md\n");
    return 2;
  }
  const auto file = belay::MappedFile::Open(argv[1]);
  if (!file.ok()) {
    std::fprintf(stderr, "%s\n", file.status().ToString().c_str());
    return 1;
  }
  const absl::StatusOr<std::string> page = belay::WithExample(
      {reinterpret_cast<const char*>((*file)->bytes().data()), (*file)->bytes().size()});
  const absl::Status status =
      page.ok() ? belay::WriteFileAtomically(argv[1], {*page}) : page.status();
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
