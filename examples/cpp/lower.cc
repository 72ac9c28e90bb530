// Lowers an archive of torch.export.save to the CPU backend, with the C++ library of the package.
//   lower MODEL.pt2 OUTPUT.belay
#include <cstdio>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "backends/aot_backends.h"
#include "exir/ops/standard_ops.h"
#include "exir/pipeline.h"
#include "exir/serialize/serializer.h"
#include "runtime/core/status_macros.h"

namespace {

absl::Status Lower(const std::string& archive, const std::string& output) {
  ABSL_ASSIGN_OR_RETURN(const auto ops, belay::exir::CreateStandardOps());
  ABSL_ASSIGN_OR_RETURN(const std::unique_ptr<belay::exir::Partitioner> cpu,
                        belay::CreatePartitioner("cpu", {}));
  belay::exir::PipelineOptions options;
  options.backends = &belay::AotBackends();
  options.partitioners.all.push_back(cpu.get());
  ABSL_ASSIGN_OR_RETURN(const belay::exir::ProgramImage image,
                        belay::exir::LowerFiles({{"forward", archive}}, *ops, options));
  return belay::exir::WriteProgramFile(image, output);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: lower MODEL.pt2 OUTPUT.belay\n");
    return 2;
  }
  const absl::Status status = Lower(argv[1], argv[2]);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 3;
}
