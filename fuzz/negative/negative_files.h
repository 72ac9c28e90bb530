// The negative corpus: files that every reader of this project must refuse with the right error.
//
// One family of classes of docs/hardening.md §3 and one reader is a function below; each of its files is
// a row of a table beside it.
#ifndef BELAY_FUZZ_NEGATIVE_NEGATIVE_FILES_H_
#define BELAY_FUZZ_NEGATIVE_NEGATIVE_FILES_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "fuzz/negative/negative_file.h"

namespace belay::fuzz {

// All files, sorted by name. Always the same bytes.
std::vector<NegativeFile> NegativeFiles();

// Classes of §3, in its order.
absl::Span<const std::string_view> NegativeClasses();
// Those of them that have no file.
absl::Span<const ImpossibleClass> ImpossibleClasses();

// The table of the corpus, as corpus/INDEX.md has it.
std::string NegativeIndex(absl::Span<const NegativeFile> files);

// By family.
std::vector<NegativeFile> ProgramContainerFiles();    // C, A, P1, P3 of .belay
std::vector<NegativeFile> ProgramTableFiles();        // T, P1, P2 of .belay
std::vector<NegativeFile> ProgramTensorFiles();       // N of .belay
std::vector<NegativeFile> ProgramInstructionFiles();  // I of .belay
std::vector<NegativeFile> ProgramKernelFiles();       // K, N8, P2: programs that load
std::vector<NegativeFile> CompanionFiles();           // .data, .sig
std::vector<NegativeFile> ArchiveContainerFiles();    // C, P4 of .pt2
std::vector<NegativeFile> ArchiveContentFiles();      // T, N, I, B, P of .pt2
std::vector<NegativeFile> SavedTensorFiles();         // .pt
std::vector<NegativeFile> ArrayFiles();               // .npy
std::vector<NegativeFile> TextFiles();                // .txt
std::vector<NegativeFile> BlobFiles();                // D: delegate blobs
std::vector<NegativeFile> ExecuTorchFiles();          // .pte, .ptd, payloads of XNNPACK

}  // namespace belay::fuzz

#endif  // BELAY_FUZZ_NEGATIVE_NEGATIVE_FILES_H_
