#include "exir/backend/backend.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <thread>

#include "absl/strings/str_join.h"
#include "runtime/core/annotate.h"
#include "runtime/core/status_macros.h"

namespace belay::exir {
namespace {

absl::Status AnnotatePartition(const absl::Status& status, std::string_view method, size_t index,
                               std::string_view tag) {
  return Annotate(status,
                  absl::StrCat("method '", method, "', partition ", index, " (tag '", tag, "')"));
}

}  // namespace

absl::StatusOr<MethodResults> Backend::PreprocessMultimethod(MethodPartitions methods,
                                                             int threads) const {
  struct Job {
    PartitionInput* input;
    std::string_view method;
    size_t index;
    std::optional<absl::StatusOr<PreprocessResult>> result;
  };
  std::vector<Job> jobs;
  for (auto& [method, partitions] : methods) {
    for (size_t i = 0; i < partitions.size(); ++i) {
      jobs.push_back({&partitions[i], method, i, std::nullopt});
    }
  }
  // Jobs start in order, so all jobs before a failed one run, and the first error does not depend
  // on the number of threads.
  std::atomic<size_t> next = 0;
  std::atomic<bool> failed = false;
  const auto work = [&] {
    while (!failed) {
      const size_t i = next++;
      if (i >= jobs.size()) return;
      Job& job = jobs[i];
      job.result = Preprocess(std::move(job.input->program), job.input->compile_specs);
      if (!job.result->ok()) failed = true;
    }
  };
  std::vector<std::thread> workers;
  const size_t helpers =
      std::min<size_t>(std::max(threads, 1), std::max<size_t>(jobs.size(), 1)) - 1;
  for (size_t i = 0; i < helpers; ++i) workers.emplace_back(work);
  work();
  for (std::thread& worker : workers) worker.join();

  MethodResults results;
  size_t next_job = 0;
  for (const auto& [method, partitions] : methods) {
    std::vector<PreprocessResult> done;
    for (size_t i = 0; i < partitions.size(); ++i) {
      Job& job = jobs[next_job++];
      // Only jobs after the first failed one have no result.
      if (!job.result->ok()) {
        return AnnotatePartition(job.result->status(), method, i, partitions[i].tag);
      }
      done.push_back(*std::move(*job.result));
    }
    results.emplace_back(method, std::move(done));
  }
  return results;
}

absl::Status BackendSet::Add(const Backend* backend) {
  for (const Backend* known : backends_) {
    if (known->id() == backend->id()) {
      return absl::AlreadyExistsError(
          absl::StrCat("there are two backends with the id '", backend->id(), "'"));
    }
  }
  backends_.push_back(backend);
  return absl::OkStatus();
}

absl::StatusOr<const Backend*> BackendSet::Find(std::string_view id) const {
  for (const Backend* backend : backends_) {
    if (backend->id() == id) return backend;
  }
  std::vector<std::string> known;
  for (const Backend* backend : backends_) {
    known.push_back(
        absl::StrCat(backend->id(), backend->target().empty() ? "" : " of ", backend->target()));
  }
  std::sort(known.begin(), known.end());
  return absl::NotFoundError(absl::StrCat("Backend ", id, " was not found; there are: ",
                                          known.empty() ? "none" : absl::StrJoin(known, ", ")));
}

std::vector<std::string_view> BackendSet::Ids() const {
  std::vector<std::string_view> ids;
  for (const Backend* backend : backends_) ids.push_back(backend->id());
  std::sort(ids.begin(), ids.end());
  return ids;
}

}  // namespace belay::exir
