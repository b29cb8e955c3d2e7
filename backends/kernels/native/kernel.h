// What all kernels have in common: how they are called, the numbers of the dtypes, the threads.
//
// A kernel is a function of C: `plan` has the shapes and what else is known when a program is compiled, `in` and `out`
// the memory of operands and results, row after row without gaps. It returns 0, or 1 where there was not enough memory.
// NumPy's backend calls it through ctypes; XLA calls its handler (xla_handler.h), which does no more than call it.

#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>

#if defined(_WIN32)
#define TANGRAD_EXPORT extern "C" __declspec(dllexport)
#else
#define TANGRAD_EXPORT extern "C" __attribute__((visibility("default")))
#endif

// Loops that gain from wide registers are compiled twice, and chosen when the library is loaded.
#if defined(__GNUC__) && defined(__x86_64__) && defined(__GLIBC__) && !defined(TANGRAD_NO_CLONES)
#define TANGRAD_CLONES __attribute__((target_clones("avx2", "default")))
#else
#define TANGRAD_CLONES
#endif

// The same for arithmetic, which gains from registers twice as wide again, and from fused multiplication and addition:
// what it calls has to be TANGRAD_INLINE, or it is compiled for the least of the processors alone.
#if defined(__GNUC__) && __GNUC__ >= 12 && !defined(__clang__) && defined(__x86_64__) && defined(__GLIBC__) && \
    !defined(TANGRAD_NO_CLONES)
#define TANGRAD_WIDE __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define TANGRAD_WIDE TANGRAD_CLONES
#endif
#if defined(__GNUC__)
#define TANGRAD_INLINE static inline __attribute__((always_inline))
#else
#define TANGRAD_INLINE static inline
#endif

// What is written for AVX-512 itself stands between these two, and is called where `has_avx512()`; functions without
// names have TANGRAD_AVX512. GCC alone: with Clang nothing of it has been tried.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define TANGRAD_AVX512_BEGIN \
  _Pragma("GCC push_options") _Pragma("GCC target(\"avx512f,avx512bw,avx512dq,avx512vl\")")
#define TANGRAD_AVX512_END _Pragma("GCC pop_options")
#endif
#if defined(TANGRAD_AVX512_BEGIN)
#define TANGRAD_AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
#include <immintrin.h>
#endif

namespace tangrad {

inline bool has_avx512() {
#if defined(TANGRAD_AVX512_BEGIN)
  static const bool has = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                          __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  return has;
#else
  return false;
#endif
}

// As in tangrad/_kernels/jobs.py.
enum DType : int64_t { F32, F64, I8, I16, I32, I64, U8, U16, U32, U64, F16, BF16 };

using Plan = const int64_t*;
using Inputs = const void* const*;
using Outputs = void* const*;
using Kernel = int(Plan, Inputs, Outputs);

// How many threads work at once, the caller among them.
int thread_count();

// Calls body(0), …, body(count - 1), on several threads at once. Which thread takes which number is not known: results
// must not depend on it. Several threads may call this at the same time; a body may where it is `Alone`.
void parallel(int64_t count, const std::function<void(int64_t)>& body);

// Waits awake until the number is so high: another thread raises it, which is at work already.
void wait_for(const std::atomic<int>& number, int least);

// Within this scope a thread does by itself what it calls `parallel` for: kernels that are parts of another one.
class Alone {
 public:
  Alone();
  ~Alone();

 private:
  const bool before_;
};

// Elements of an item of work for which it pays to wake a thread.
constexpr int64_t kLittle = 32 * 1024;

// Calls body(begin, end) for pieces of 0, …, count - 1, items of so many elements each, that are worth a thread.
template <typename Body>
void in_pieces(int64_t count, int64_t elements, const Body& body) {
  const int64_t piece = std::max<int64_t>(1, kLittle / std::max<int64_t>(1, elements));
  parallel((count + piece - 1) / piece,
           [&](int64_t i) { body(i * piece, std::min(count, (i + 1) * piece)); });
}

}  // namespace tangrad
