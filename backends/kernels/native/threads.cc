// The threads of the process that kernels share. They are started with the first work for them, and sleep between: to
// wake one takes up to 0.1 ms, as long as small jobs take, so a thread that has done its part looks out for the next job
// for a while before it sleeps; few do, as small jobs have few parts.

#include <algorithm>
#include <atomic>
#include <cfenv>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "kernel.h"

#if !defined(_WIN32)
#include <pthread.h>
#include <sched.h>
#endif

namespace tangrad {
namespace {

// How long a thread waits awake, which is the time between two equations of a program, or two calls of a short one; and
// how many threads of the pool do at the same time.
constexpr std::chrono::microseconds kAwake{100};
constexpr int kLookouts = 3;

inline void pause() {
#if defined(__x86_64__) && defined(__GNUC__)
  __builtin_ia32_pause();
#elif defined(__aarch64__) && defined(__GNUC__)
  __asm__ volatile("yield");
#endif
}

// Waits for `is_done()` for that long; other threads that want the processor get it. Whether it came true.
template <typename Condition>
bool wait_awake(const Condition& is_done) {
  const auto end = std::chrono::steady_clock::now() + kAwake;
  do {
    for (int i = 0; i < 32; ++i) {
      if (is_done()) return true;
      pause();
    }
    std::this_thread::yield();
  } while (std::chrono::steady_clock::now() < end);
  return is_done();
}

struct Job {
  const std::function<void(int64_t)>& body;
  const int64_t count;
  std::atomic<int64_t> next{0};
  std::fenv_t environment;  // of who calls: whether subnormal numbers are 0
  std::atomic<int> helpers{0};  // how many threads of the pool are at it; it grows under the pool's lock

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
      called_.fetch_add(1);
    }
    wake_.notify_all();
    job.work();
    {
      std::lock_guard<std::mutex> lock(mutex_);
      jobs_.erase(std::find(jobs_.begin(), jobs_.end(), &job));
    }
    const auto is_done = [&] { return job.helpers.load() == 0; };
    if (wait_awake(is_done)) return;
    std::unique_lock<std::mutex> lock(mutex_);
    done_.wait(lock, is_done);
  }

 private:
  Job* open_job() {
    for (Job* job : jobs_)
      if (job->next.load() < job->count) return job;
    return nullptr;
  }

  // Waits for a job that has parts left.
  Job* next_job(std::unique_lock<std::mutex>& lock) {
    for (;;) {
      if (Job* job = open_job()) return job;
      const uint64_t before = called_.load();
      const auto is_called = [&] { return called_.load() != before; };
      if (lookouts_ < kLookouts) {
        ++lookouts_;
        lock.unlock();
        wait_awake(is_called);
        lock.lock();
        --lookouts_;
      }
      wake_.wait(lock, is_called);
    }
  }

  void serve() {
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      Job* job = next_job(lock);
      job->helpers.fetch_add(1);
      lock.unlock();
      std::fesetenv(&job->environment);
      job->work();
      const bool is_last = job->helpers.fetch_sub(1) == 1;  // then the job may be gone
      lock.lock();
      if (is_last) done_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_, done_;
  std::vector<Job*> jobs_;
  std::atomic<uint64_t> called_{0};  // how many jobs there have been; it grows under the lock
  int lookouts_ = 0;  // how many threads wait awake for one
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

// The processors that this process may run on: of a container or a job, fewer than the machine has. Threads beyond them
// wait awake for one another's turn.
static int processors() {
#if defined(__linux__)
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) == 0) return CPU_COUNT(&allowed);
#endif
  return static_cast<int>(std::thread::hardware_concurrency());
}

int thread_count() {
  static const int count = [] {
    const char* wanted = std::getenv("TANGRAD_KERNELS_THREADS");
    const int number = wanted == nullptr ? 0 : std::atoi(wanted);
    return std::clamp(number > 0 ? number : processors(), 1, 64);
  }();
  return count;
}

namespace {
thread_local bool is_alone = false;
}  // namespace

Alone::Alone() : before_(is_alone) { is_alone = true; }
Alone::~Alone() { is_alone = before_; }

void wait_for(const std::atomic<int>& number, int least) {
  for (;; std::this_thread::yield())
    for (int i = 0; i < 256; ++i) {
      if (number.load(std::memory_order_acquire) >= least) return;
      pause();
    }
}

void parallel(int64_t count, const std::function<void(int64_t)>& body) {
  if (count <= 1 || is_alone || thread_count() == 1) {
    for (int64_t i = 0; i < count; ++i) body(i);
  } else {
    the_pool().run(count, body);
  }
}

}  // namespace tangrad

// For what is faster on several threads alone.
TANGRAD_EXPORT int tangrad_threads() { return tangrad::thread_count(); }
