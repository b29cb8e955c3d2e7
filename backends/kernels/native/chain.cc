// Functions of each element, one after another, block by block: what is between them stays in the nearest cache.
//
// plan: dtype (F32, F64 or BF16), elements, how many functions, and their numbers (0: sin, 1: cos, 2: exp, 3: tanh; of
// F64 the first two alone). Every result is rounded to the dtype.
//
// And functions of one number or two by oneMKL's vectors, with errors below one unit in the last place.

#include "vector.h"
#include "vendor.h"
#include "xla_handler.h"

#define TANGRAD_OF_ONE(X, NAME)                                          \
  X(vms##NAME, void, int, const float*, float*, int64_t)                 \
  X(vmd##NAME, void, int, const double*, double*, int64_t)
#define TANGRAD_OF_TWO(X, NAME)                                          \
  X(vms##NAME, void, int, const float*, const float*, float*, int64_t)   \
  X(vmd##NAME, void, int, const double*, const double*, double*, int64_t)
// In the order by which plans number them, as in vendor_jobs.py.
#define TANGRAD_VECTORS(X)                                                                                        \
  TANGRAD_OF_ONE(X, Ln) TANGRAD_OF_ONE(X, Log1p) TANGRAD_OF_ONE(X, Tan) TANGRAD_OF_ONE(X, Asin)                   \
  TANGRAD_OF_ONE(X, Acos) TANGRAD_OF_ONE(X, Sinh) TANGRAD_OF_ONE(X, Cosh) TANGRAD_OF_ONE(X, Asinh)                \
  TANGRAD_OF_ONE(X, Acosh) TANGRAD_OF_ONE(X, Atanh) TANGRAD_OF_ONE(X, Cbrt) TANGRAD_OF_ONE(X, Erf)                \
  TANGRAD_OF_ONE(X, Erfc) TANGRAD_OF_ONE(X, ErfInv) TANGRAD_OF_ONE(X, LGamma)                                     \
  TANGRAD_OF_TWO(X, Pow) TANGRAD_OF_TWO(X, Atan2) TANGRAD_OF_TWO(X, Fmod)                                         \
  X(MKL_Set_Num_Threads_Local, int, int)

TANGRAD_VENDOR(vectors, TANGRAD_VECTORS)

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

// --- oneMKL's ----------------------------------------------------------------------------------------------------------

// Its most accurate ones, which keep subnormal numbers and report nothing.
constexpr int64_t kMode = 0x2 | 0x140000 | 0x100;

// Where the elements of a block of an operand are: those of one number are made first.
template <typename T>
const T* block_of(const void* operand, bool is_one, int64_t first, int64_t size, T* made) {
  const T* x = static_cast<const T*>(operand);
  if (!is_one) return x + first;
  std::fill_n(made, size, *x);
  return made;
}

template <typename T>
void apply(int64_t function, bool of_two, const T* x, const T* z, T* y, int64_t size) {
  void* found = reinterpret_cast<void**>(&functions)[2 * function + (sizeof(T) == 8)];
  if (of_two)
    reinterpret_cast<void (*)(int, const T*, const T*, T*, int64_t)>(found)(static_cast<int>(size), x, z, y, kMode);
  else
    reinterpret_cast<void (*)(int, const T*, T*, int64_t)>(found)(static_cast<int>(size), x, y, kMode);
}

template <typename T>
void run_vectors(Plan plan, Inputs in, Outputs out) {
  const int64_t count = plan[1], function = plan[2];
  const bool of_two = plan[3] == 2;
  in_pieces((count + kBlock - 1) / kBlock, kBlock, [=](int64_t begin, int64_t end) {
    const int before = functions.MKL_Set_Num_Threads_Local(1);
    T made[2][kBlock];
    for (int64_t block = begin; block < end; ++block) {
      const int64_t first = block * kBlock, size = std::min(kBlock, count - first);
      const T* x = block_of(in[0], plan[4] != 0, first, size, made[0]);
      const T* z = of_two ? block_of(in[1], plan[5] != 0, first, size, made[1]) : nullptr;
      apply(function, of_two, x, z, static_cast<T*>(out[0]) + first, size);
    }
    functions.MKL_Set_Num_Threads_Local(before);
  });
}

}  // namespace
}  // namespace tangrad

// plan: dtype (F32 or F64), elements, the function, how many operands, and for each whether it is one number.
TANGRAD_KERNEL(vectors) {
  using namespace tangrad;
  plan[0] == F32 ? run_vectors<float>(plan, in, out) : run_vectors<double>(plan, in, out);
  return 0;
}

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
