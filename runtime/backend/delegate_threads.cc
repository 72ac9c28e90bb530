#include "runtime/backend/delegate_threads.h"

#include <cstdint>
#include <variant>

namespace belay {
namespace {

constexpr std::string_view kThreads = "threads";

}  // namespace

BackendOptionTable ThreadsOptionTable() {
  static const BackendOption table[] = {
      {.name = kThreads,
       .about = "maximum number of the method's threads that work on a delegate",
       .default_value = int64_t{ThreadPool::kMaxThreads},
       .min = 1,
       .max = int64_t{ThreadPool::kMaxThreads},
       .changeable = true}};
  return table;
}

DelegateThreads::DelegateThreads(const DelegateInitContext& context)
    : limit_(ThreadPool::kMaxThreads) {
  if (context.options != nullptr) {
    const auto set = context.options->find(kThreads);
    if (set != context.options->end()) limit_ = std::get<int64_t>(set->second);
  }
  if (context.threads != nullptr) pool_.emplace(*context.threads, static_cast<int>(limit_));
}

void DelegateThreads::SetOption(std::string_view name, const OptionValue& value) {
  limit_ = std::get<int64_t>(value);
  if (pool_.has_value()) pool_->Limit(static_cast<int>(limit_));
}

}  // namespace belay
