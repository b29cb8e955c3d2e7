// Functions of libraries by others, which Python finds, loads and hands over one by one: nothing is linked with them.

#pragma once

#include <atomic>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "kernel.h"

// Defines `Functions`, whose members are pointers to the functions of a list (one X(NAME, RESULT, ARGUMENTS) for each),
// and exports how Python learns the names and hands over the addresses, in the list's order: `tangrad_LIBRARY_function`
// returns the name of a number, null behind the last one, and takes the address if there is one.
#define TANGRAD_VENDOR(LIBRARY, LIST)                                                                             \
  namespace tangrad {                                                                                             \
  namespace {                                                                                                     \
  struct Functions {                                                                                              \
    LIST(TANGRAD_VENDOR_MEMBER)                                                                                   \
  } functions;                                                                                                    \
  constexpr const char* kNames[] = {LIST(TANGRAD_VENDOR_NAME) nullptr};                                           \
  }                                                                                                               \
  }                                                                                                               \
  TANGRAD_EXPORT const char* tangrad_##LIBRARY##_function(int number, void* address) {                            \
    using namespace tangrad;                                                                                      \
    static_assert(sizeof(Functions) + sizeof(void*) == sizeof(kNames));                                           \
    if (address != nullptr) reinterpret_cast<void**>(&functions)[number] = address;                               \
    return kNames[number];                                                                                        \
  }
#define TANGRAD_VENDOR_MEMBER(NAME, RESULT, ...) RESULT (*NAME)(__VA_ARGS__);
#define TANGRAD_VENDOR_NAME(NAME, RESULT, ...) #NAME,

namespace tangrad {

// Held while a library's own threads work: each thread that calls a library has a team of its own, and teams that wait
// for each other's processors take milliseconds for what takes microseconds.
inline std::mutex& team() {
  static auto* made = new std::mutex;
  return *made;
}

// What a library prepares for a plan (the first `length` numbers of it are the key), kept for the next call; the oldest
// ones go. A call that has one keeps it alive.
template <typename Prepared>
class Kept {
 public:
  template <typename Make>
  std::shared_ptr<Prepared> get(Plan plan, int64_t length, const Make& make) {
    const std::vector<int64_t> key(plan, plan + length);
    std::lock_guard<std::mutex> lock(mutex_);
    const auto found = made_.find(key);
    if (found != made_.end()) return found->second;
    std::shared_ptr<Prepared> prepared = make();
    if (prepared == nullptr) return nullptr;
    if (order_.size() >= kMost) {
      made_.erase(order_.front());
      order_.pop_front();
    }
    order_.push_back(key);
    made_.emplace(key, prepared);
    return prepared;
  }

 private:
  static constexpr size_t kMost = 256;
  std::mutex mutex_;
  std::map<std::vector<int64_t>, std::shared_ptr<Prepared>> made_;
  std::list<std::vector<int64_t>> order_;
};

}  // namespace tangrad
