#include "fuzz/negative/negative_files.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"

namespace belay::fuzz {
namespace {

constexpr std::string_view kClasses[] = {
    "C1", "C2", "C3", "C4", "C5", "C6", "C7", "C8", "T1", "T2", "T3", "T4", "T5", "N1",
    "N2", "N3", "N4", "N5", "N6", "N7", "N8", "N9", "I1", "I2", "I3", "I4", "I5", "I6",
    "K1", "K2", "K3", "K4", "K5", "K6", "D1", "D2", "D3", "D4", "D5", "D6", "D7", "D8",
    "D9", "A1", "A2", "B1", "B2", "B3", "B4", "B5", "P1", "P2", "P3", "P4"};

constexpr ImpossibleClass kImpossible[] = {
    {"I3",
     "no instruction frees anything: memory belongs to the method and lives as long as it does"},
    {"I6",
     "a file cannot interrupt a call: Execute begins at instruction 0 each time and keeps no place "
     "in the program (method_test: an error leaves the method usable)"},
    {"B4", "no trace is written by the runtime or read by a tool as a binary format"},
    {"B5", "no audio file is read"},
};

}  // namespace

std::vector<NegativeFile> NegativeFiles() {
  std::vector<NegativeFile> all;
  for (auto* family :
       {ProgramContainerFiles, ProgramTableFiles, ProgramTensorFiles, ProgramInstructionFiles,
        ProgramKernelFiles, CompanionFiles, ArchiveContainerFiles, ArchiveContentFiles,
        SavedTensorFiles, ArrayFiles, TextFiles, BlobFiles, ExecuTorchFiles}) {
    std::vector<NegativeFile> files = family();
    std::move(files.begin(), files.end(), std::back_inserter(all));
  }
  std::sort(all.begin(), all.end(),
            [](const NegativeFile& a, const NegativeFile& b) { return a.name < b.name; });
  return all;
}

absl::Span<const std::string_view> NegativeClasses() { return kClasses; }
absl::Span<const ImpossibleClass> ImpossibleClasses() { return kImpossible; }

std::string NegativeIndex(absl::Span<const NegativeFile> files) {
  std::string text =
      "# Negative corpus\n\nMade by `tools/bazel run //fuzz/negative:write_negative_files`. "
      "Each file is refused with this code and a message that has this piece.\n\n"
      "| file | what is wrong | code | message |\n| --- | --- | --- | --- |\n";
  for (const NegativeFile& file : files) {
    absl::StrAppend(&text, "| `", file.name, "` | ", file.what, " | ",
                    absl::StatusCodeToString(file.code), " | `", file.message, "` |\n");
  }
  absl::StrAppend(&text, "\n## Classes without a file\n\n| class | why |\n| --- | --- |\n");
  for (const ImpossibleClass& impossible : kImpossible) {
    absl::StrAppend(&text, "| ",
                    absl::string_view(impossible.class_id.data(), impossible.class_id.size()),
                    " | ", absl::string_view(impossible.why.data(), impossible.why.size()), " |\n");
  }
  return text;
}

}  // namespace belay::fuzz
