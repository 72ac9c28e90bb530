// Resource limits of a command: --timeout and --limit-…, with a watchdog for code that does not
// check them.
#ifndef BELAY_TOOLS_BELAY_COMMAND_LIMITS_H_
#define BELAY_TOOLS_BELAY_COMMAND_LIMITS_H_

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "exir/pipeline.h"
#include "runtime/core/budget.h"
#include "runtime/core/mapped_file.h"
#include "runtime/program/program.h"
#include "tools/belay/command_line.h"

namespace belay::tools {

// The options. If unset, limits are proportional to the command's files (docs/hardening.md §5).
struct CommandLimits {
  double timeout = -1;  // seconds; 0: no limit, negative: unset
  std::optional<uint64_t> memory, work, nodes;

  // Limits for opening programs, and for lowering.
  Program::Options ForPrograms(FileAccess access = FileAccess::kMap) const;
  exir::LoweringLimits ForLowering() const;
};

// Appends --timeout, --limit-memory and --limit-work; also --limit-nodes for commands that lower.
std::vector<Option> WithLimits(std::vector<Option> options, CommandLimits* limits,
                               bool lowers = false);

// Scope in which a command runs within its limits: the thread has a Budget, and a watchdog thread
// is started. Some loops do not check the Budget. If the command continues beyond its time or
// memory limit, the watchdog reports it on stderr and ends the process with kBadInput. Files are
// written whole or not at all (WriteFileAtomically), so no partial files remain. At most one
// instance at a time.
class WithinLimits {
 public:
  // `files` are the command's input files; missing files count as empty.
  WithinLimits(const CommandLimits& limits, const std::vector<std::string>& files);
  WithinLimits(const WithinLimits&) = delete;
  WithinLimits& operator=(const WithinLimits&) = delete;
  ~WithinLimits();

  // Adds the companion files of an opened program to the input files.
  void Add(const Program& program);

 private:
  struct Bounds {
    std::optional<std::chrono::steady_clock::time_point> deadline;
    double seconds = 0;
    uint64_t memory_bytes = 0;
  };
  void Update();
  void Watch();

  const CommandLimits limits_;
  const std::chrono::steady_clock::time_point start_;
  uint64_t file_bytes_ = 0;
  Budget budget_;
  Budget::Scope scope_;
  std::mutex mutex_;
  std::condition_variable wake_;
  Bounds bounds_;      // guarded by mutex_
  bool done_ = false;  // guarded by mutex_
  std::thread watcher_;
};

}  // namespace belay::tools

#endif  // BELAY_TOOLS_BELAY_COMMAND_LIMITS_H_
