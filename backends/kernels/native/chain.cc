// Functions of each element, one after another, block by block: what is between them stays in the nearest cache.
//
// plan: dtype (F32, F64 or BF16), elements, how many functions, and their numbers (0: sin, 1: cos, 2: exp, 3: tanh; of
// F64 the first two alone). Every result is rounded to the dtype.

#include "vector.h"
#include "xla_handler.h"

namespace tangrad {
namespace {

constexpr int64_t kBlock = 1024;

enum Function : int64_t { kSin, kCos, kExp, kTanh };

template <typename T>
using Step = void (*)(const T*, T*, int64_t);

// Whether all are of that size at most.
template <typename T>
TANGRAD_INLINE bool all_within(const T* x, int64_t size, T limit) {
  int32_t great = 0;
  for (int64_t i = 0; i < size; ++i) great |= !(std::fabs(x[i]) <= limit);
  return great == 0;
}

// What is too great for a formula is computed again by the next one: which, an element alone decides.
template <int kQuarter>
TANGRAD_INLINE void turn(const float* x, float* y, int64_t size, float (*great)(float)) {
  for (int64_t i = 0; i < size; ++i) y[i] = quickly_turned<kQuarter>(x[i]);
  if (all_within(x, size, kQuick)) return;
  for (int64_t i = 0; i < size; ++i) {
    const float found = turned<kQuarter>(x[i]);
    y[i] = std::fabs(x[i]) <= kQuick ? y[i] : found;
  }
  for (int64_t i = 0; i < size; ++i)
    if (!(std::fabs(x[i]) <= kGreatestAngle)) y[i] = great(x[i]);
}

template <int kQuarter>
TANGRAD_INLINE void turn(const double* x, double* y, int64_t size, double (*great)(double)) {
  for (int64_t i = 0; i < size; ++i) y[i] = turned<kQuarter>(x[i]);
  if (all_within(x, size, kGreatestAngle)) return;
  for (int64_t i = 0; i < size; ++i)
    if (!(std::fabs(x[i]) <= kGreatestAngle)) y[i] = great(x[i]);
}

TANGRAD_WIDE void sin_of_floats(const float* x, float* y, int64_t size) { turn<0>(x, y, size, std::sin); }
TANGRAD_WIDE void cos_of_floats(const float* x, float* y, int64_t size) { turn<1>(x, y, size, std::cos); }
TANGRAD_WIDE void sin_of_doubles(const double* x, double* y, int64_t size) { turn<0>(x, y, size, std::sin); }
TANGRAD_WIDE void cos_of_doubles(const double* x, double* y, int64_t size) { turn<1>(x, y, size, std::cos); }

TANGRAD_WIDE void exp_of_floats(const float* x, float* y, int64_t size) {
  for (int64_t i = 0; i < size; ++i) y[i] = exponential(x[i]);
}

TANGRAD_WIDE void tanh_of_floats(const float* x, float* y, int64_t size) {
  for (int64_t i = 0; i < size; ++i) y[i] = hyperbolic_tangent(x[i]);
}

Step<float> step_of(int64_t function, float) {
  constexpr Step<float> kSteps[] = {sin_of_floats, cos_of_floats, exp_of_floats, tanh_of_floats};
  return kSteps[function];
}

Step<double> step_of(int64_t function, double) { return function == kSin ? sin_of_doubles : cos_of_doubles; }

template <typename T>
int run(Plan plan, const void* in, void* out) {
  const T* x = static_cast<const T*>(in);
  T* y = static_cast<T*>(out);
  const int64_t count = plan[1], functions = plan[2];
  in_pieces((count + kBlock - 1) / kBlock, kBlock, [=](int64_t begin, int64_t end) {
    T between[2][kBlock];
    for (int64_t block = begin; block < end; ++block) {
      const int64_t first = block * kBlock, size = std::min(kBlock, count - first);
      const T* from = x + first;
      for (int64_t i = 0; i < functions; ++i) {
        T* to = i + 1 == functions ? y + first : between[i & 1];
        step_of(plan[3 + i], T())(from, to, size);
        from = to;
      }
    }
  });
  return 0;
}

int run_narrow(Plan plan, const void* in, void* out) {
  const uint16_t* x = static_cast<const uint16_t*>(in);
  uint16_t* y = static_cast<uint16_t*>(out);
  const int64_t count = plan[1], functions = plan[2];
  in_pieces((count + kBlock - 1) / kBlock, kBlock, [=](int64_t begin, int64_t end) {
    float wide[kBlock], found[kBlock];
    for (int64_t block = begin; block < end; ++block) {
      const int64_t first = block * kBlock, size = std::min(kBlock, count - first);
      for (int64_t i = 0; i < functions; ++i) {
        widen((i == 0 ? x : y) + first, wide, size);
        step_of(plan[3 + i], float())(wide, found, size);
        narrow(found, y + first, size);
      }
    }
  });
  return 0;
}

}  // namespace
}  // namespace tangrad

TANGRAD_KERNEL(chain) {
  using namespace tangrad;
  switch (plan[0]) {
    case F32:
      return run<float>(plan, in[0], out[0]);
    case F64:
      return run<double>(plan, in[0], out[0]);
    default:
      return run_narrow(plan, in[0], out[0]);
  }
}
