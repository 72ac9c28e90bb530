// Command lines: one argument per line. What the subcommands get keeps what their help promises.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "fuzz/oracles/require.h"
#include "runtime/core/str_cat.h"
#include "tools/belay/command.h"
#include "tools/belay/command_line.h"

namespace {

using namespace belay::tools;

// No parser gives it.
constexpr int kCalled = 77;

int Called(bool promised, std::string_view what) {
  if (!promised) belay::fuzz::Require(absl::InternalError(std::string(what)));
  return kCalled;
}

constexpr Commands kCommands = {
    .lower =
        [](const LowerOptions& options) {
          return Called(options.threads >= 1 && options.threads <= 1024, "lower --threads");
        },
    .run = [](const RunOptions& options) { return Called(options.repeat > 0, "run --repeat"); },
    .inspect = [](const InspectOptions&) { return kCalled; },
    .verify =
        [](const VerifyOptions& options) {
          return Called(options.calls > 0 && options.atol >= 0 && options.rtol >= 0,
                        "verify --calls, --atol, --rtol");
        },
    .bench =
        [](const BenchOptions& options) { return Called(options.seconds > 0, "bench --seconds"); },
    .strip = [](const StripOptions&) { return kCalled; },
    .stress =
        [](const StressOptions& options) {
          return Called(options.mutations > 0, "stress --mutations");
        },
    .keygen = [](const KeygenOptions&) { return kCalled; },
    .sign = [](const SignOptions&) { return kCalled; },
    .verify_signature =
        [](const VerifySignatureOptions& options) {
          return Called(!options.keys.empty(), "verify-signature --key");
        },
    .ops = [](const OpsOptions&) { return kCalled; },
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  std::vector<std::string> arguments;
  while (!text.empty() && arguments.size() < 64) {
    const size_t end = std::min(text.find('\n'), text.size());
    arguments.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  std::ostringstream out, error;
  const int status = RunCommandLine(arguments, kCommands, out, error);
  const bool said = !out.str().empty() || !error.str().empty();
  if (status != kCalled && status != kDone && status != kBadUsage) {
    belay::fuzz::Require(absl::InternalError(absl::StrCat("exit status ", status)));
  }
  if (status == kBadUsage && !said) {
    belay::fuzz::Require(absl::InternalError("bad usage, and not a word why"));
  }
  return 0;
}
