// XLA's foreign function interface, as far as the kernels need it: the structures of its C API that a call reads. They
// stay as they are for all versions of the interface that have the same major number, 0.

#pragma once

#include <cstddef>
#include <cstdint>

#include "kernel.h"

namespace tangrad::xla {

struct Error;  // XLA's own

struct ErrorCreate {
  size_t struct_size;
  void* extensions;
  const char* message;
  int code;
};

struct Version {
  size_t struct_size;
  void* extensions;
  int major, minor;
};

struct Api {
  size_t struct_size;
  void* extensions;
  Version version;
  void* internal;
  Error* (*error_create)(ErrorCreate*);
};

struct Buffer {
  size_t struct_size;
  void* extensions;
  int dtype;
  void* data;
  int64_t rank;
  int64_t* dims;
};

struct Array {
  int dtype;
  size_t size;
  int64_t* data;
};

struct Values {  // operands, or results
  size_t struct_size;
  void* extensions;
  int64_t size;
  int* types;
  void** values;
};

struct Attributes {
  size_t struct_size;
  void* extensions;
  int64_t size;
  int* types;
  void** names;
  void** values;
};

struct Metadata {
  size_t struct_size;
  Version version;
  uint32_t traits;
};

struct Extension {
  size_t struct_size;
  int type;
  Extension* next;
  Metadata* metadata;
};

struct Frame {
  size_t struct_size;
  Extension* extensions;
  const Api* api;
  void* context;
  int stage;
  Values operands, results;
  Attributes attributes;
};

inline Error* failure(const Frame* frame, const char* message, int code) {
  ErrorCreate args{sizeof(ErrorCreate), nullptr, message, code};
  return frame->api->error_create(&args);
}

// Calls the kernel with the array `plan`, the one attribute, and the memory of operands and results.
inline Error* call(Frame* frame, Kernel* kernel) {
  constexpr int kMetadata = 1, kExecute = 3, kArray = 1, kInvalidArgument = 3, kResourceExhausted = 8;
  constexpr int64_t kMost = 64;
  if (frame->extensions != nullptr && frame->extensions->type == kMetadata) {
    Metadata* metadata = frame->extensions->metadata;
    metadata->version = Version{sizeof(Version), nullptr, 0, 1};
    metadata->traits = 0;
    return nullptr;
  }
  if (frame->stage != kExecute) return nullptr;
  const Values &operands = frame->operands, &results = frame->results;
  if (operands.size > kMost || results.size > kMost || frame->attributes.size != 1 ||
      frame->attributes.types[0] != kArray)
    return failure(frame, "a kernel takes one attribute, the array `plan`", kInvalidArgument);
  const void* in[kMost];
  void* out[kMost];
  for (int64_t i = 0; i < operands.size; ++i) in[i] = static_cast<Buffer*>(operands.values[i])->data;
  for (int64_t i = 0; i < results.size; ++i) out[i] = static_cast<Buffer*>(results.values[i])->data;
  const int status = kernel(static_cast<Array*>(frame->attributes.values[0])->data, in, out);
  return status == 0 ? nullptr : failure(frame, "not enough memory for a kernel", kResourceExhausted);
}

}  // namespace tangrad::xla

// Defines the kernel `tangrad_NAME` with its handler `tangrad_NAME_xla`; what stands behind is the kernel's body.
#define TANGRAD_KERNEL(NAME)                                                                            \
  TANGRAD_EXPORT int tangrad_##NAME(tangrad::Plan plan, tangrad::Inputs in, tangrad::Outputs out);      \
  TANGRAD_EXPORT tangrad::xla::Error* tangrad_##NAME##_xla(tangrad::xla::Frame* frame) {                \
    return tangrad::xla::call(frame, tangrad_##NAME);                                                   \
  }                                                                                                     \
  TANGRAD_EXPORT int tangrad_##NAME(tangrad::Plan plan, tangrad::Inputs in, tangrad::Outputs out)
