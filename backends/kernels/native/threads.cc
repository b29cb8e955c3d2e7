// The threads of the process that kernels share. They are started with the first work for them, and sleep between.

#include <algorithm>
#include <atomic>
#include <cfenv>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "kernel.h"

#if !defined(_WIN32)
#include <pthread.h>
#endif

namespace tangrad {
namespace {

struct Job {
  const std::function<void(int64_t)>& body;
  const int64_t count;
  std::atomic<int64_t> next{0};
  std::fenv_t environment;  // of who calls: whether subnormal numbers are 0
  int helpers = 0;  // how many threads of the pool are at it; guarded by the pool's lock

  void work() {
    for (int64_t i; (i = next.fetch_add(1)) < count;) body(i);
  }
};

class Pool {
 public:
  explicit Pool(int helpers) {
    try {
      for (int i = 0; i < helpers; ++i) std::thread([this] { serve(); }).detach();
    } catch (const std::system_error&) {
      // There are as many as the system gives: who calls works, too.
    }
  }

  void run(int64_t count, const std::function<void(int64_t)>& body) {
    Job job{body, count};
    std::fegetenv(&job.environment);
    {
      std::lock_guard<std::mutex> lock(mutex_);
      jobs_.push_back(&job);
    }
    wake_.notify_all();
    job.work();
    std::unique_lock<std::mutex> lock(mutex_);
    jobs_.erase(std::find(jobs_.begin(), jobs_.end(), &job));
    done_.wait(lock, [&] { return job.helpers == 0; });
  }

 private:
  Job* open_job() {
    for (Job* job : jobs_)
      if (job->next.load() < job->count) return job;
    return nullptr;
  }

  void serve() {
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      Job* job = nullptr;
      wake_.wait(lock, [&] { return (job = open_job()) != nullptr; });
      ++job->helpers;
      lock.unlock();
      std::fesetenv(&job->environment);
      job->work();
      lock.lock();
      if (--job->helpers == 0) done_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_, done_;
  std::vector<Job*> jobs_;
};

// Never freed: its threads may sleep in it when the process ends.
std::atomic<Pool*> pool{nullptr};

Pool& the_pool() {
  static std::mutex* starting = new std::mutex;
  Pool* found = pool.load();
  if (found == nullptr) {
    std::lock_guard<std::mutex> lock(*starting);
    found = pool.load();
    if (found == nullptr) {
      found = new Pool(thread_count() - 1);
#if !defined(_WIN32)
      // A child of fork has none of the threads: it makes a pool of its own.
      static const int once = pthread_atfork(nullptr, nullptr, [] { pool.store(nullptr); });
      (void)once;
#endif
      pool.store(found);
    }
  }
  return *found;
}

}  // namespace

int thread_count() {
  static const int count = [] {
    const char* wanted = std::getenv("TANGRAD_KERNELS_THREADS");
    const int number = wanted == nullptr ? 0 : std::atoi(wanted);
    return std::clamp(number > 0 ? number : static_cast<int>(std::thread::hardware_concurrency()), 1, 64);
  }();
  return count;
}

void parallel(int64_t count, const std::function<void(int64_t)>& body) {
  if (count <= 1 || thread_count() == 1) {
    for (int64_t i = 0; i < count; ++i) body(i);
  } else {
    the_pool().run(count, body);
  }
}

}  // namespace tangrad

// For what is faster on several threads alone.
TANGRAD_EXPORT int tangrad_threads() { return tangrad::thread_count(); }
