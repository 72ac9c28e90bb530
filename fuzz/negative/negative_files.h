// The negative corpus: files that every reader of this project must reject with the right error.
//
// Each function below creates the files of one reader and one family of classes of
// docs/hardening.md §3. Each file is a row of a table in the .cc file.
#ifndef BELAY_FUZZ_NEGATIVE_NEGATIVE_FILES_H_
#define BELAY_FUZZ_NEGATIVE_NEGATIVE_FILES_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "fuzz/negative/negative_file.h"

namespace belay::fuzz {

// Returns all files, sorted by name. The bytes are always the same.
std::vector<NegativeFile> NegativeFiles();

// Returns the classes of §3, in its order.
absl::Span<const std::string_view> NegativeClasses();
// Returns the classes that have no file.
absl::Span<const ImpossibleClass> ImpossibleClasses();

// Returns the table of the corpus, the contents of corpus/INDEX.md.
std::string NegativeIndex(absl::Span<const NegativeFile> files);

// Files by family.
std::vector<NegativeFile> ProgramContainerFiles();    // C, A, P1, P3 of .belay
std::vector<NegativeFile> ProgramTableFiles();        // T, P1, P2 of .belay
std::vector<NegativeFile> ProgramTensorFiles();       // N of .belay
std::vector<NegativeFile> ProgramInstructionFiles();  // I of .belay
std::vector<NegativeFile> ProgramKernelFiles();       // K, N8, P2: programs that load
std::vector<NegativeFile> CompanionFiles();           // .data, .sig, .params
std::vector<NegativeFile> ArchiveContainerFiles();    // C, P4 of .pt2
std::vector<NegativeFile> ArchiveContentFiles();      // T, N, I, B, P of .pt2
std::vector<NegativeFile> SavedTensorFiles();         // .pt
std::vector<NegativeFile> ArrayFiles();               // .npy
std::vector<NegativeFile> TextFiles();                // .txt
std::vector<NegativeFile> BlobFiles();                // D: delegate blobs
std::vector<NegativeFile> ExecuTorchFiles();          // .pte, .ptd, payloads of XNNPACK

}  // namespace belay::fuzz

#endif  // BELAY_FUZZ_NEGATIVE_NEGATIVE_FILES_H_
