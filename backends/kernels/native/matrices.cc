// Products of several matrices and programs over the rows of what they give, matrix by matrix: what is between them stays
// in the caches of one thread.
//
// plan:
//   dtype (F32 or F64), how many dimensions of matrices, operands, temporary arrays, results, steps;
//   the dimensions of matrices;
//   for each operand and then each result, and each dimension, how far its matrices are apart, in bytes; for each
//   temporary array how many elements it has;
//   steps: kernel (0: product, 1: rows), how many arrays it reads and writes, which ones (operands, temporary arrays and
//   results are numbered in this order), the length of its plan, and its plan, of one matrix.

#include <atomic>
#include <memory>
#include <new>
#include <vector>

#include "xla_handler.h"

TANGRAD_EXPORT int tangrad_product(tangrad::Plan plan, tangrad::Inputs in, tangrad::Outputs out);
TANGRAD_EXPORT int tangrad_rows(tangrad::Plan plan, tangrad::Inputs in, tangrad::Outputs out);

namespace tangrad {
namespace {

class Matrices {
 public:
  Matrices(Plan plan, Inputs in, Outputs out)
      : width_(plan[0] == F32 ? 4 : 8),
        dimensions_(plan[1]),
        operands_(plan[2]),
        temporaries_(plan[3]),
        results_(plan[4]),
        steps_(plan[5]),
        sizes_(plan + 6),
        apart_(sizes_ + dimensions_),
        elements_(apart_ + (operands_ + results_) * dimensions_),
        code_(elements_ + temporaries_),
        in_(in),
        out_(out) {}

  int run() {
    int64_t count = 1, room = kGap;
    for (int64_t i = 0; i < dimensions_; ++i) count *= sizes_[i];
    for (int64_t i = 0; i < temporaries_; ++i) room += padded(elements_[i]);
    std::atomic<int64_t> next{0};
    std::atomic<int> status{0};
    // Each thread has its temporary arrays once.
    parallel(std::min<int64_t>(count, thread_count()), [&](int64_t) {
      const Alone alone;
      std::unique_ptr<char[]> memory;
      for (int64_t i; (i = next.fetch_add(1)) < count;) {
        if (memory == nullptr) memory.reset(new (std::nothrow) char[room]);
        if (memory == nullptr || run_one(i, memory.get()) != 0) status.store(1);
      }
    });
    return status.load();
  }

 private:
  // Bytes: whole lines of the cache, and one more, so that arrays are not a power of two apart.
  static constexpr int64_t kGap = 64;
  int64_t padded(int64_t elements) const { return (elements * width_ + kGap - 1) / kGap * kGap + kGap; }

  // Where a matrix of an operand or a result begins, in bytes.
  int64_t matrix(int64_t array, int64_t number) const {
    int64_t at = 0;
    for (int64_t axis = dimensions_ - 1; axis >= 0; --axis) {
      at += number % sizes_[axis] * apart_[array * dimensions_ + axis];
      number /= sizes_[axis];
    }
    return at;
  }

  int run_one(int64_t number, char* memory) const {
    std::vector<char*> places;
    for (int64_t i = 0; i < operands_; ++i)
      places.push_back(static_cast<char*>(const_cast<void*>(in_[i])) + matrix(i, number));
    char* free = memory + (kGap - reinterpret_cast<uintptr_t>(memory) % kGap) % kGap;
    for (int64_t i = 0; i < temporaries_; ++i) {
      places.push_back(free);
      free += padded(elements_[i]);
    }
    for (int64_t i = 0; i < results_; ++i)
      places.push_back(static_cast<char*>(out_[i]) + matrix(operands_ + i, number));
    const int64_t* code = code_;
    std::vector<const void*> in;
    std::vector<void*> out;
    for (int64_t step = 0; step < steps_; ++step) {
      const int64_t reads = code[1], writes = code[2], length = code[3 + reads + writes];
      in.clear();
      out.clear();
      for (int64_t i = 0; i < reads; ++i) in.push_back(places[code[3 + i]]);
      for (int64_t i = 0; i < writes; ++i) out.push_back(places[code[3 + reads + i]]);
      const int64_t* plan = code + 4 + reads + writes;
      if ((code[0] == 0 ? tangrad_product : tangrad_rows)(plan, in.data(), out.data()) != 0) return 1;
      code = plan + length;
    }
    return 0;
  }

  const int64_t width_, dimensions_, operands_, temporaries_, results_, steps_;
  const int64_t *sizes_, *apart_, *elements_, *code_;
  Inputs in_;
  Outputs out_;
};

}  // namespace
}  // namespace tangrad

TANGRAD_KERNEL(matrices) { return tangrad::Matrices(plan, in, out).run(); }
