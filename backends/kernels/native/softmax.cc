// exp(x) / sum(exp(x)) of rows.
//
// plan: dtype (F32 or BF16), rows, and the elements of one.

#include <atomic>
#include <memory>
#include <new>

#include "rows.h"
#include "xla_handler.h"

namespace tangrad {
namespace {

TANGRAD_WIDE void softmax_of(const float* x, float* y, int64_t size) { softmax_row(x, y, size); }

}  // namespace
}  // namespace tangrad

TANGRAD_KERNEL(softmax) {
  using namespace tangrad;
  const int64_t rows = plan[1], size = plan[2];
  if (plan[0] == F32) {
    in_pieces(rows, size, [=](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row)
        softmax_of(static_cast<const float*>(in[0]) + row * size, static_cast<float*>(out[0]) + row * size, size);
    });
    return 0;
  }
  std::atomic<bool> failed{false};
  in_pieces(rows, size, [&](int64_t begin, int64_t end) {
    std::unique_ptr<float[]> wide(new (std::nothrow) float[2 * size]);
    if (wide == nullptr) return failed.store(true);
    for (int64_t row = begin; row < end; ++row) {
      widen(static_cast<const uint16_t*>(in[0]) + row * size, wide.get(), size);
      softmax_of(wide.get(), wide.get() + size, size);
      narrow(wide.get() + size, static_cast<uint16_t*>(out[0]) + row * size, size);
    }
  });
  return failed.load() ? 1 : 0;
}
