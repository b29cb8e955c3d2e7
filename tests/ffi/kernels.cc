// Handlers for the tests: typed operands and attributes, a state between calls, errors.

#include <cmath>
#include <cstdint>
#include <memory>
#include <string_view>

#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

// y = x / sqrt(mean(x^2) + eps), along the last dimension.
static ffi::Error Normalize(float eps, ffi::Buffer<ffi::F32> x, ffi::ResultBuffer<ffi::F32> y) {
  if (x.dimensions().size() == 0) return ffi::Error::InvalidArgument("x must have a dimension");
  const int64_t width = x.dimensions().back();
  for (int64_t start = 0; start < static_cast<int64_t>(x.element_count()); start += width) {
    float sum = 0;
    for (int64_t i = start; i < start + width; ++i) sum += x.typed_data()[i] * x.typed_data()[i];
    const float scale = 1 / std::sqrt(sum / width + eps);
    for (int64_t i = start; i < start + width; ++i) y->typed_data()[i] = x.typed_data()[i] * scale;
  }
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(normalize, Normalize,
                              ffi::Ffi::Bind()
                                  .Attr<float>("eps")
                                  .Arg<ffi::Buffer<ffi::F32>>()
                                  .Ret<ffi::Buffer<ffi::F32>>());

// What each attribute decodes to, as floats.
static ffi::Error Decode(int64_t number, double real, std::string_view text, bool flag, ffi::Span<const int32_t> list,
                         ffi::Dictionary nested, ffi::ResultBuffer<ffi::F32> y) {
  auto inner = nested.get<int64_t>("inner");
  if (inner.has_error()) return inner.error();
  float* out = y->typed_data();
  out[0] = number;
  out[1] = real;
  out[2] = text.size();
  out[3] = flag;
  out[4] = list.size() * 10 + list[1];
  out[5] = *inner;
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(decode, Decode,
                              ffi::Ffi::Bind()
                                  .Attr<int64_t>("number")
                                  .Attr<double>("real")
                                  .Attr<std::string_view>("text")
                                  .Attr<bool>("flag")
                                  .Attr<ffi::Span<const int32_t>>("list")
                                  .Attr<ffi::Dictionary>("nested")
                                  .Ret<ffi::Buffer<ffi::F32>>());

// Adds 1 to its result's memory, which an operand has been put into.
static ffi::Error Increment(ffi::AnyBuffer x, ffi::ResultBuffer<ffi::F32> y) {
  for (size_t i = 0; i < x.element_count(); ++i) y->typed_data()[i] += 1;
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(increment, Increment,
                              ffi::Ffi::Bind().Arg<ffi::AnyBuffer>().Ret<ffi::Buffer<ffi::F32>>());

// Counts its calls, each program for itself.
struct Counter {
  static ffi::TypeId id;
  int32_t next;
};
ffi::TypeId Counter::id = {};
static int counters = 0;
extern "C" int number_of_counters() { return counters; }
static XLA_FFI_TypeInfo counter_info = {sizeof(XLA_FFI_TypeInfo), nullptr, [](void* state) {
                                          --counters;
                                          delete static_cast<Counter*>(state);
                                        }};
extern "C" void* counter_type() { return &Counter::id; }
extern "C" void* counter_type_info() { return &counter_info; }

static ffi::ErrorOr<std::unique_ptr<Counter>> Begin(int64_t start) {
  ++counters;
  return std::make_unique<Counter>(Counter{static_cast<int32_t>(start)});
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(begin, Begin, ffi::Ffi::BindInstantiate().Attr<int64_t>("start"));

static ffi::Error Count(Counter* counter, ffi::ResultBuffer<ffi::S32> y) {
  y->typed_data()[0] = counter->next++;
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(count, Count,
                              ffi::Ffi::Bind().Ctx<ffi::State<Counter>>().Ret<ffi::Buffer<ffi::S32>>());
