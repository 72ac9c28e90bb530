// The valid programs to which negative companion files and signatures belong.
#ifndef BELAY_FUZZ_NEGATIVE_COMPANION_PROGRAM_H_
#define BELAY_FUZZ_NEGATIVE_COMPANION_PROGRAM_H_

#include <string>

#include "runtime/program/signature.h"

namespace belay::fuzz {

// Has two segments in "model.data".
std::string CompanionProgram();

// Has a replaceable tensor "w", f32[2,3], and named data "fixed" of 4 bytes.
std::string ReplaceableProgram();

// The program that negative signatures claim to sign, with this key.
std::string SignedProgram();
Ed25519SecretKey SigningKey();

}  // namespace belay::fuzz

#endif  // BELAY_FUZZ_NEGATIVE_COMPANION_PROGRAM_H_
