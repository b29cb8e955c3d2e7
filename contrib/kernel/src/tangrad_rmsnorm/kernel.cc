// y = x / sqrt(mean(x^2) + eps) along the last dimension, for float32 and float64.

#include <cmath>
#include <cstdint>

#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

constexpr int64_t kLanes = 16;  // sums side by side, which the compiler keeps in vector registers

template <ffi::DataType T>
static ffi::Error RmsNorm(double eps, ffi::Buffer<T> x, ffi::ResultBuffer<T> y) {
  const int64_t width = x.dimensions().back();
  using Number = ffi::NativeType<T>;  // sums overflow where the decomposition's do
  const Number* in = x.typed_data();
  Number* out = y->typed_data();
  for (int64_t row = 0; row < static_cast<int64_t>(x.element_count()); row += width) {
    Number parts[kLanes] = {}, sum = 0;
    int64_t first = 0;
    for (; first + kLanes <= width; first += kLanes)
      for (int64_t i = 0; i < kLanes; ++i) parts[i] += in[row + first + i] * in[row + first + i];
    for (int64_t i = first; i < width; ++i) sum += in[row + i] * in[row + i];
    for (Number part : parts) sum += part;
    const Number scale = 1 / std::sqrt(sum / width + static_cast<Number>(eps));
    for (int64_t i = 0; i < width; ++i) out[row + i] = in[row + i] * scale;
  }
  return ffi::Error::Success();
}

XLA_FFI_DEFINE_HANDLER_SYMBOL(
    rms_norm_float32, RmsNorm<ffi::F32>,
    ffi::Ffi::Bind().Attr<double>("eps").Arg<ffi::Buffer<ffi::F32>>().Ret<ffi::Buffer<ffi::F32>>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(
    rms_norm_float64, RmsNorm<ffi::F64>,
    ffi::Ffi::Bind().Attr<double>("eps").Arg<ffi::Buffer<ffi::F64>>().Ret<ffi::Buffer<ffi::F64>>());
