// Convolutions, and the gradients of their kernels, by oneDNN, whose functions Python hands over.

#include <new>

#include "vendor.h"
#include "xla_handler.h"

namespace tangrad {
namespace {

using Handle = void*;  // of the library's objects
struct Argument {
  int number;
  Handle memory;
};

}  // namespace
}  // namespace tangrad

#define TANGRAD_ONEDNN(X)                                                                                          \
  X(dnnl_engine_create, int, Handle*, int, size_t)                                                                 \
  X(dnnl_stream_create, int, Handle*, Handle, unsigned)                                                            \
  X(dnnl_stream_destroy, int, Handle)                                                                              \
  X(dnnl_memory_desc_create_with_strides, int, Handle*, int, const int64_t*, int, const int64_t*)                  \
  X(dnnl_memory_desc_create_with_tag, int, Handle*, int, const int64_t*, int, int)                                 \
  X(dnnl_memory_desc_destroy, int, Handle)                                                                         \
  X(dnnl_memory_desc_equal, int, Handle, Handle)                                                                   \
  X(dnnl_memory_desc_get_size, size_t, Handle)                                                                     \
  X(dnnl_memory_create, int, Handle*, Handle, Handle, void*)                                                       \
  X(dnnl_memory_destroy, int, Handle)                                                                              \
  X(dnnl_primitive_attr_create, int, Handle*)                                                                      \
  X(dnnl_primitive_attr_set_scratchpad_mode, int, Handle, int)                                                     \
  X(dnnl_primitive_attr_destroy, int, Handle)                                                                      \
  X(dnnl_convolution_forward_primitive_desc_create, int, Handle*, Handle, int, int, Handle, Handle, Handle, Handle, \
    const int64_t*, const int64_t*, const int64_t*, const int64_t*, Handle)                                        \
  X(dnnl_convolution_backward_weights_primitive_desc_create, int, Handle*, Handle, int, Handle, Handle, Handle,     \
    Handle, const int64_t*, const int64_t*, const int64_t*, const int64_t*, Handle, Handle)                        \
  X(dnnl_reorder_primitive_desc_create, int, Handle*, Handle, Handle, Handle, Handle, Handle)                      \
  X(dnnl_primitive_desc_query_md, Handle, Handle, int, int)                                                        \
  X(dnnl_primitive_desc_destroy, int, Handle)                                                                      \
  X(dnnl_primitive_create, int, Handle*, Handle)                                                                   \
  X(dnnl_primitive_execute, int, Handle, Handle, int, const Argument*)                                             \
  X(dnnl_primitive_destroy, int, Handle)                                                                           \
  X(omp_get_max_threads, int)                                                                                      \
  X(omp_set_num_threads, void, int)

TANGRAD_VENDOR(onednn, TANGRAD_ONEDNN)

namespace tangrad {
namespace {

constexpr int kMost = 12;  // dimensions that a description has room for
constexpr int kFloat = 3, kAny = 1, kDirect = 1, kTraining = 64, kOfUser = 1;
// What a primitive is asked for, and by which number it gets it.
constexpr int kSource = 129, kWeights = 131, kWeightsGradient = 132, kResult = 133, kResultGradient = 134, kScratch = 136;
constexpr int kSourceArgument = 1, kResultArgument = 17, kWeightsArgument = 33, kScratchArgument = 80,
              kResultGradientArgument = 145, kWeightsGradientArgument = 161;

// An object of the library, destroyed by this function.
class Owned {
 public:
  explicit Owned(int (*destroy)(Handle)) : destroy_(destroy) {}
  ~Owned() {
    if (handle_ != nullptr) destroy_(handle_);
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  Handle* place() { return &handle_; }
  Handle get() const { return handle_; }

 private:
  int (*destroy_)(Handle);
  Handle handle_ = nullptr;
};

struct Description : Owned {
  Description() : Owned(functions.dnnl_memory_desc_destroy) {}
};
struct Primitive : Owned {
  Primitive() : Owned(functions.dnnl_primitive_destroy) {}
};
struct PrimitiveDescription : Owned {
  PrimitiveDescription() : Owned(functions.dnnl_primitive_desc_destroy) {}
};

Handle engine() {
  static Handle made = [] {
    constexpr int kCpu = 1;
    Handle found = nullptr;
    functions.dnnl_engine_create(&found, kCpu, 0);
    return found;
  }();
  return made;
}

// An array as it comes or goes, and as the primitive has it.
struct Part {
  Description given;
  Handle wanted = nullptr;  // the primitive's
  int argument = 0;
  bool is_result = false;
  std::unique_ptr<Primitive> reorder;  // where they differ

  bool prepare(Handle description, int what) {
    wanted = functions.dnnl_primitive_desc_query_md(description, what, 0);
    if (wanted == nullptr) return false;
    if (functions.dnnl_memory_desc_equal(given.get(), wanted)) return true;
    PrimitiveDescription plan;
    Handle from = is_result ? wanted : given.get(), to = is_result ? given.get() : wanted;
    reorder = std::make_unique<Primitive>();
    return functions.dnnl_reorder_primitive_desc_create(plan.place(), from, engine(), to, engine(), nullptr) == 0 &&
           functions.dnnl_primitive_create(reorder->place(), plan.get()) == 0;
  }
};

// How many threads the library starts within this scope, when a primitive is made and when it runs: one for small
// convolutions, of which programs run several at once.
class Threads {
 public:
  explicit Threads(bool is_small) : lock_(team(), std::defer_lock) {
    if (!is_small) {
      lock_.lock();
    } else if (functions.omp_set_num_threads != nullptr) {
      before_ = functions.omp_get_max_threads();
      functions.omp_set_num_threads(1);
    }
  }
  ~Threads() {
    if (before_ > 0) functions.omp_set_num_threads(before_);
  }

 private:
  std::unique_lock<std::mutex> lock_;
  int before_ = 0;
};

struct Convolution {
  Part x, y, out;
  PrimitiveDescription description;
  Primitive primitive;
  Handle scratch = nullptr;
};

// plan: which (0 the convolution, 1 the gradient of its kernel), dimensions of the images and of the kernel, spatial
// ones; sizes and strides of x, y and the result; steps, dilations less one, paddings before and behind.
// Of the gradient x is the image, y the gradient of the convolution's result, and the result the kernel's gradient.
int64_t length(Plan plan) { return 4 + 4 * plan[1] + 2 * plan[2] + 4 * plan[3]; }

// Whether one thread is enough: by the multiplications, of an image's elements with those of a kernel for each result.
bool is_small(Plan plan) {
  constexpr double kSmall = 1 << 23;
  const int64_t images = plan[1], kernels = plan[2];
  const int64_t *second = plan + 4 + 2 * images, *third = second + 2 * (plan[0] != 0 ? images : kernels);
  const int64_t *kernel = plan[0] != 0 ? third : second, *result = plan[0] != 0 ? second : third;
  double multiplications = 1;
  for (int64_t i = 0; i < images; ++i) multiplications *= result[i];
  for (int64_t i = kernels - plan[3] - 1; i < kernels; ++i) multiplications *= kernel[i];
  return multiplications < kSmall;
}

std::shared_ptr<Convolution> prepared(Plan plan) {
  const Threads threads(is_small(plan));
  const bool gradient = plan[0] != 0;
  const int64_t images = plan[1], kernels = plan[2], spatial = plan[3];
  const auto made = std::make_shared<Convolution>();
  const int64_t* at = plan + 4;
  const auto read = [&](Part& part, int64_t rank, int argument) {
    const int64_t *sizes = at, *strides = at + rank;
    at += 2 * rank;
    part.argument = argument;
    return functions.dnnl_memory_desc_create_with_strides(part.given.place(), rank, sizes, kFloat, strides) == 0;
  };
  made->out.is_result = true;
  Description free[3];
  const auto any = [&](Description& description, int64_t rank, const int64_t* sizes) {
    return functions.dnnl_memory_desc_create_with_tag(description.place(), rank, sizes, kFloat, kAny) == 0;
  };
  const int64_t y_rank = gradient ? images : kernels, out_rank = gradient ? kernels : images;
  bool fine = any(free[0], images, at) && read(made->x, images, kSourceArgument);
  fine = fine && any(free[1], y_rank, at) && read(made->y, y_rank, gradient ? kResultGradientArgument : kWeightsArgument);
  fine = fine && any(free[2], out_rank, at) &&
         read(made->out, out_rank, gradient ? kWeightsGradientArgument : kResultArgument);
  const int64_t *steps = at, *dilations = at + spatial, *before = at + 2 * spatial, *behind = at + 3 * spatial;
  // Features last is an order that the primitives take as it is; others they may choose.
  const int64_t* strides = plan + 4 + images;
  const bool as_given = strides[1] == 1;
  Owned attributes(functions.dnnl_primitive_attr_destroy);
  fine = fine && functions.dnnl_primitive_attr_create(attributes.place()) == 0 &&
         functions.dnnl_primitive_attr_set_scratchpad_mode(attributes.get(), kOfUser) == 0;
  if (!fine) return nullptr;
  const Handle x = as_given ? made->x.given.get() : free[0].get();
  PrimitiveDescription forward;
  if (gradient) {
    const Handle y = as_given ? made->y.given.get() : free[1].get();
    fine = functions.dnnl_convolution_forward_primitive_desc_create(forward.place(), engine(), kTraining, kDirect, x,
                                                                    free[2].get(), nullptr, y, steps, dilations, before,
                                                                    behind, nullptr) == 0 &&
           functions.dnnl_convolution_backward_weights_primitive_desc_create(
               made->description.place(), engine(), kDirect, x, free[2].get(), nullptr, y, steps, dilations, before,
               behind, forward.get(), attributes.get()) == 0;
  } else {
    const Handle out = as_given ? made->out.given.get() : free[2].get();
    fine = functions.dnnl_convolution_forward_primitive_desc_create(made->description.place(), engine(), kTraining,
                                                                    kDirect, x, free[1].get(), nullptr, out, steps,
                                                                    dilations, before, behind, attributes.get()) == 0;
  }
  const Handle description = made->description.get();
  fine = fine && functions.dnnl_primitive_create(made->primitive.place(), description) == 0 &&
         made->x.prepare(description, kSource) && made->y.prepare(description, gradient ? kResultGradient : kWeights) &&
         made->out.prepare(description, gradient ? kWeightsGradient : kResult);
  if (!fine) return nullptr;
  made->scratch = functions.dnnl_primitive_desc_query_md(description, kScratch, 0);
  return made;
}

// Memory of one call, which the library sees as one of its own.
class Memory {
 public:
  bool make(Handle description, void* data = nullptr) {
    const size_t size = functions.dnnl_memory_desc_get_size(description);
    if (data == nullptr && size > 0) {
      own_.reset(new (std::align_val_t(64), std::nothrow) char[size]);
      if (own_ == nullptr) return false;
      data = own_.get();
    }
    return functions.dnnl_memory_create(memory_.place(), description, engine(), data) == 0;
  }
  Handle get() const { return memory_.get(); }

 private:
  struct Free {
    void operator()(char* x) const { ::operator delete[](x, std::align_val_t(64)); }
  };
  std::unique_ptr<char[], Free> own_;
  Owned memory_{functions.dnnl_memory_destroy};
};

bool run(const Convolution& made, const void* x, const void* y, void* out) {
  Owned stream(functions.dnnl_stream_destroy);
  if (functions.dnnl_stream_create(stream.place(), engine(), 1) != 0) return false;
  const Part* parts[] = {&made.x, &made.y, &made.out};
  void* data[] = {const_cast<void*>(x), const_cast<void*>(y), out};
  Memory given[3], inner[3], scratch;
  Argument arguments[4];
  const auto reorder = [&](const Part& part, const Memory& from, const Memory& to) {
    const Argument both[] = {{kSourceArgument, from.get()}, {kResultArgument, to.get()}};
    return functions.dnnl_primitive_execute(part.reorder->get(), stream.get(), 2, both) == 0;
  };
  for (int i = 0; i < 3; ++i) {
    const Part& part = *parts[i];
    if (!given[i].make(part.given.get(), data[i])) return false;
    arguments[i] = {part.argument, given[i].get()};
    if (part.reorder == nullptr) continue;
    if (!inner[i].make(part.wanted)) return false;
    arguments[i].memory = inner[i].get();
    if (!part.is_result && !reorder(part, given[i], inner[i])) return false;
  }
  if (!scratch.make(made.scratch)) return false;
  arguments[3] = {kScratchArgument, scratch.get()};
  if (functions.dnnl_primitive_execute(made.primitive.get(), stream.get(), 4, arguments) != 0) return false;
  return made.out.reorder == nullptr || reorder(made.out, inner[2], given[2]);
}

Kept<Convolution>& kept() {
  static auto* made = new Kept<Convolution>;
  return *made;
}

}  // namespace
}  // namespace tangrad

TANGRAD_KERNEL(convolution) {
  using namespace tangrad;
  const std::shared_ptr<Convolution> made = kept().get(plan, length(plan), [&] { return prepared(plan); });
  const Threads threads(is_small(plan));
  return made != nullptr && run(*made, in[0], in[1], out[0]) ? 0 : 1;
}

// Whether the library has such a convolution; it is then prepared.
TANGRAD_EXPORT int tangrad_convolution_taken(tangrad::Plan plan) {
  return tangrad::kept().get(plan, tangrad::length(plan), [&] { return tangrad::prepared(plan); }) != nullptr;
}
