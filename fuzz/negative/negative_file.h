// A file that must be rejected, with the expected error.
#ifndef BELAY_FUZZ_NEGATIVE_NEGATIVE_FILE_H_
#define BELAY_FUZZ_NEGATIVE_NEGATIVE_FILE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace belay::fuzz {

// The reader of the file, given by the name's extension.
enum class NegativeReader : uint8_t {
  kProgram,       // .belay: opened, its methods loaded with all kernels and backends, and executed
  kCompanion,     // .data: "model.data" beside CompanionProgram()
  kSignature,     // .sig: of SignedProgram(), by a trusted key
  kParameters,    // .params: parameters of ReplaceableProgram()
  kArchive,       // .pt2: imported
  kSavedTensors,  // .pt: weights by torch.save
  kArray,         // .npy: an input of ArrayProgram()
  kText,          // .txt: the text form of a program
  kBlob,          // .<backend id>: a delegate's blob, called with f32[2,3] and giving f32[2,3]
  kExecuTorchProgram,  // .pte: opened, its methods loaded with all kernels and backends, and executed
  kExecuTorchData,     // .ptd: of a program that takes "w", f32[2], from it
};

// The kind of directory entry at the file's path.
enum class NegativePlacement : uint8_t { kFile, kSymbolicLink, kHardLink, kDirectory };

struct NegativeFile {
  std::string
      name;  // "C1_header_short.belay": the class of docs/hardening.md §3, what it is, the reader
  NegativeReader reader;
  absl::StatusCode code;
  std::string message;  // substring of the error message
  std::string what;     // short description of the defect
  std::string bytes;
  NegativePlacement placement = NegativePlacement::kFile;  // links point to a file with `bytes`

  std::string_view class_id() const { return std::string_view(name).substr(0, name.find('_')); }
  // For blobs: the backend id.
  std::string_view extension() const { return std::string_view(name).substr(name.rfind('.') + 1); }
};

// A class that cannot occur in a file of any reader of this project, with the reason.
struct ImpossibleClass {
  std::string_view class_id;
  std::string_view why;
};

}  // namespace belay::fuzz

#endif  // BELAY_FUZZ_NEGATIVE_NEGATIVE_FILE_H_
