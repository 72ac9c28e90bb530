// One file that must be refused, and how.
#ifndef BELAY_FUZZ_NEGATIVE_NEGATIVE_FILE_H_
#define BELAY_FUZZ_NEGATIVE_NEGATIVE_FILE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace belay::fuzz {

// Who reads the file; the name's extension says it.
enum class NegativeReader : uint8_t {
  kProgram,       // .belay: opened, its methods loaded with all kernels and backends, and executed
  kCompanion,     // .data: "model.data" beside CompanionProgram()
  kSignature,     // .sig: of SignedProgram(), by a trusted key
  kArchive,       // .pt2: imported
  kSavedTensors,  // .pt: weights by torch.save
  kArray,         // .npy: an input of ArrayProgram()
  kText,          // .txt: the text form of a program
  kBlob,          // .<backend id>: a delegate's blob, called with f32[2,3] and giving f32[2,3]
  kExecuTorchProgram,  // .pte: opened, its methods loaded with all kernels and backends, and executed
  kExecuTorchData,     // .ptd: of a program that takes "w", f32[2], from it
};

// What stands at the file's place.
enum class NegativePlacement : uint8_t { kFile, kSymbolicLink, kHardLink, kDirectory };

struct NegativeFile {
  std::string
      name;  // "C1_header_short.belay": the class of docs/hardening.md §3, what it is, the reader
  NegativeReader reader;
  absl::StatusCode code;
  std::string message;  // a piece of the error's
  std::string what;     // what is wrong with it, in a few words
  std::string bytes;
  NegativePlacement placement = NegativePlacement::kFile;  // links lead to the bytes

  std::string_view class_id() const { return std::string_view(name).substr(0, name.find('_')); }
  // For blobs: the backend.
  std::string_view extension() const { return std::string_view(name).substr(name.rfind('.') + 1); }
};

// A class that no file can have for any reader of this project, and why.
struct ImpossibleClass {
  std::string_view class_id;
  std::string_view why;
};

}  // namespace belay::fuzz

#endif  // BELAY_FUZZ_NEGATIVE_NEGATIVE_FILE_H_
