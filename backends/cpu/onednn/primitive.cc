#include "backends/cpu/onednn/primitive.h"

#include <thread>

namespace hr::cpu::onednn {

Result<MemoryDesc> Strided(std::span<const int64_t> dims, std::span<const int64_t> strides) {
  MemoryDesc desc;
  HR_RETURN_IF_ERROR(Check(Dnnl().memory_desc_create_with_strides(
                               desc.out(), static_cast<int>(dims.size()),
                               const_cast<int64_t*>(dims.data()), dnnl_f32, strides.data()),
                           "memory layout"));
  return desc;
}

Result<MemoryDesc> AnyLayout(std::span<const int64_t> dims) {
  MemoryDesc desc;
  HR_RETURN_IF_ERROR(
      Check(Dnnl().memory_desc_create_with_tag(desc.out(), static_cast<int>(dims.size()),
                                               dims.data(), dnnl_f32, dnnl_format_tag_any),
            "memory layout"));
  return desc;
}

namespace {

// "name a,b,c "
template <typename T>
std::string ListText(const_dnnl_memory_desc_t layout, dnnl_query_t query, std::string_view name,
                     int count) {
  const T* values = nullptr;
  if (Dnnl().memory_desc_query(layout, query, &values) != dnnl_success) return {};
  std::string out(name);
  for (int i = 0; i < count; ++i) out += Cat(i == 0 ? " " : ",", values[i]);
  return out + " ";
}

template <typename T>
T Number(const_dnnl_memory_desc_t layout, dnnl_query_t query) {
  T value{};
  return Dnnl().memory_desc_query(layout, query, &value) == dnnl_success ? value : T{};
}

}  // namespace

std::string LayoutText(const_dnnl_memory_desc_t layout) {
  const int rank = Number<int>(layout, dnnl_query_ndims_s32);
  const int blocks = Number<int>(layout, dnnl_query_inner_nblks_s32);
  return ListText<dnnl_dim_t>(layout, dnnl_query_dims, "dims", rank) +
         ListText<dnnl_dim_t>(layout, dnnl_query_padded_dims, "padded", rank) +
         ListText<dnnl_dim_t>(layout, dnnl_query_strides, "strides", rank) +
         ListText<dnnl_dim_t>(layout, dnnl_query_inner_blks, "blocks", blocks) +
         ListText<dnnl_dim_t>(layout, dnnl_query_inner_idxs, "axes", blocks);
}

Result<Attributes> MakeAttributes() {
  Attributes attributes;
  HR_RETURN_IF_ERROR(Check(Dnnl().primitive_attr_create(attributes.out()), "attributes"));
  HR_RETURN_IF_ERROR(
      Check(Dnnl().primitive_attr_set_scratchpad_mode(attributes.get(), dnnl_scratchpad_mode_user),
            "scratchpad mode"));
  return attributes;
}

Result<Primitive> Primitive::Create(const Library& library, const_dnnl_primitive_desc_t desc,
                                    std::span<const Argument> arguments, int concurrency) {
  const char* implementation = "";
  HR_RETURN_IF_ERROR(
      Check(Dnnl().primitive_desc_query(desc, dnnl_query_impl_info_str, 0, &implementation),
            "implementation name"));
  if (std::string_view(implementation).starts_with("ref")) {
    return Unimplemented("oneDNN has only reference code for this");
  }
  Primitive out;
  HR_RETURN_IF_ERROR(Check(Dnnl().primitive_create(out.primitive_.out(), desc), "primitive"));
  const_dnnl_memory_desc_t scratch =
      Dnnl().primitive_desc_query_md(desc, dnnl_query_scratchpad_md, 0);
  out.scratch_bytes_ = Dnnl().memory_desc_get_size(scratch);
  std::vector<Argument> all(arguments.begin(), arguments.end());
  all.push_back({DNNL_ARG_SCRATCHPAD, scratch});
  HR_RETURN_IF_ERROR(out.AddFrames(library, all, concurrency));
  return out;
}

Result<Primitive> Primitive::Reorder(const Library& library, const_dnnl_memory_desc_t from,
                                     const_dnnl_memory_desc_t to, int concurrency) {
  HR_ASSIGN_OR_RETURN(Attributes attributes, MakeAttributes());
  PrimitiveDesc desc;
  HR_RETURN_IF_ERROR(
      Check(Dnnl().reorder_primitive_desc_create(desc.out(), from, library.engine(), to,
                                                 library.engine(), attributes.get()),
            "reorder"));
  const Argument arguments[] = {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}};
  return Create(library, desc.get(), arguments, concurrency);
}

Status Primitive::AddFrames(const Library& library, std::span<const Argument> arguments,
                            int count) {
  for (int i = 0; i < count; ++i) {
    auto frame = std::make_unique<Frame>();
    HR_RETURN_IF_ERROR(Check(
        Dnnl().stream_create(frame->stream.out(), library.engine(), dnnl_stream_default_flags),
        "stream"));
    for (const Argument& argument : arguments) {
      Memory memory;
      HR_RETURN_IF_ERROR(Check(
          Dnnl().memory_create(memory.out(), argument.layout, library.engine(), DNNL_MEMORY_NONE),
          "memory"));
      frame->arguments.push_back({argument.index, memory.get()});
      frame->memory.push_back(std::move(memory));
    }
    frames_.push_back(std::move(frame));
  }
  return {};
}

Primitive::Frame& Primitive::Take() const {
  while (true) {
    for (const auto& frame : frames_) {
      if (!frame->taken.exchange(true, std::memory_order_acquire)) return *frame;
    }
    std::this_thread::yield();  // more threads than were planned for
  }
}

Status Primitive::Execute(std::span<void* const> memory, void* scratch) const {
  Frame& frame = Take();
  dnnl_status_t status = dnnl_success;
  for (size_t i = 0; i < frame.memory.size() && status == dnnl_success; ++i) {
    void* data = i < memory.size() ? memory[i] : scratch;
    status = Dnnl().memory_set_data_handle(frame.memory[i].get(), data);
  }
  if (status == dnnl_success) {
    status =
        Dnnl().primitive_execute(primitive_.get(), frame.stream.get(),
                                 static_cast<int>(frame.arguments.size()), frame.arguments.data());
  }
  if (status == dnnl_success) status = Dnnl().stream_wait(frame.stream.get());
  frame.taken.store(false, std::memory_order_release);
  return Check(status, "execution");
}

}  // namespace hr::cpu::onednn
