// Generated programs: interpreter, runtime and every backend agree.
#include <cstddef>
#include <cstdint>
#include <memory>

#include "exir/ops/standard_ops.h"
#include "fuzz/generators/byte_source.h"
#include "fuzz/generators/edge_program_generator.h"
#include "fuzz/oracles/agreement.h"
#include "fuzz/oracles/require.h"
#include "runtime/core/status_macros.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace belay;
  static const exir::OpRegistry& ops = *[] {
    auto created = exir::CreateStandardOps();
    ABSL_CHECK(created.ok());
    return created->release();
  }();
  static const fuzz::AgreementChecker& checker = *[] {
    auto created = fuzz::AgreementChecker::Create();
    ABSL_CHECK(created.ok());
    return created->release();
  }();
  fuzz::ByteSource source(data, size);
  const uint64_t seed = source.Byte();
  const exir::ExportedProgram program = fuzz::GenerateEdgeProgram(source, ops);
  fuzz::Require(checker.Check(program, seed));
  return 0;
}
