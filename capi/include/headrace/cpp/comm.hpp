// Groups of processes, with point-to-point and collective operations on the caller's memory.
#ifndef HEADRACE_CPP_COMM_HPP_
#define HEADRACE_CPP_COMM_HPP_

#include "headrace/comm.h"
#include "headrace/cpp/queue.hpp"
#include "headrace/cpp/tensor.hpp"

namespace hr {
inline namespace cpp {

// A key-value store where ranks meet; see hr_store.
class Store : public detail::Handle<hr_store, hr_store_release> {
 public:
  Store(const Env& env, const std::string& url)
      : Handle(detail::made<hr_store*>(hr_store_open, env.get(), url.c_str())) {}
};

// An operation in flight. Destroying the handle does not end the operation.
class Work : public detail::Handle<hr_work, hr_work_release> {
 public:
  explicit Work(hr_work* owned) : Handle(owned) {}
  bool test() { return hr_work_test(get()) != 0; }
  void wait(const hr_limits* limits = nullptr) { check(hr_work_wait(get(), limits)); }
  void cancel() { check(hr_work_cancel(get())); }
  // Puts the operation into a queue when it has ended.
  void enqueue(const Queue& queue, uint64_t key) {
    check(hr_work_enqueue(get(), queue.get(), key));
  }
};

// Returns the operations of a group of another process as JSON; see hr_dump_read.
inline std::string read_dump(const std::string& flight_file) {
  return detail::text_of(hr_dump_read, flight_file.c_str());
}

// A set of processes that communicate; see hr_group.
class Group : public detail::Handle<hr_group, hr_group_release> {
 public:
  // Rank, size and store come from the environment.
  explicit Group(const Env& env) : Group(make(hr_group_create, env.get(), nullptr, nullptr)) {}
  Group(const Env& env, const hr_group_options& options, const hr_limits* limits = nullptr)
      : Group(make(hr_group_create, env.get(), &options, limits)) {}
  int32_t rank() const { return hr_group_rank(get()); }
  int32_t size() const { return hr_group_size(get()); }
  uint64_t epoch() const { return hr_group_epoch(get()); }
  std::string describe() const { return detail::text_of(hr_group_describe, get()); }
  std::string dump() const { return detail::text_of(hr_group_dump, get()); }
  void close() { hr_group_close(get()); }
  void abort(const std::string& cause) { check(hr_group_abort(get(), cause.c_str())); }
  // The result is false (operator bool) if the color is negative.
  Group split(int32_t color, int32_t key = 0, const hr_limits* limits = nullptr) {
    return Group(make(hr_group_split, get(), color, key, limits));
  }
  // The next three return the group of the next epoch; see hr_group_shrink, hr_group_grow and
  // hr_group_join.
  Group shrink(const hr_limits* limits = nullptr) {
    return Group(make(hr_group_shrink, get(), limits));
  }
  Group grow(int32_t new_size, const hr_limits* limits = nullptr) {
    return Group(make(hr_group_grow, get(), new_size, limits));
  }
  static Group join(const Env& env, const hr_group_options* options = nullptr,
                    const hr_limits* limits = nullptr) {
    return Group(make(hr_group_join, env.get(), options, limits));
  }

  template <typename T>
  void send(const T* data, uint64_t count, int32_t to, uint32_t tag = 0,
            const hr_limits* limits = nullptr) {
    check(hr_send(get(), data, count, dtype_of<T>(), to, tag, limits));
  }
  template <typename T>
  void recv(T* data, uint64_t count, int32_t from, uint32_t tag = 0,
            const hr_limits* limits = nullptr) {
    check(hr_recv(get(), data, count, dtype_of<T>(), from, tag, limits));
  }
  void barrier(const hr_limits* limits = nullptr) { check(hr_barrier(get(), limits)); }
  template <typename T>
  void broadcast(const T* input, T* output, uint64_t count, int32_t root,
                 const hr_limits* limits = nullptr) {
    check(hr_broadcast(get(), input, output, count, dtype_of<T>(), root, limits));
  }
  template <typename T>
  void reduce(const T* input, T* output, uint64_t count, hr_reduce_op op, int32_t root,
              const hr_limits* limits = nullptr) {
    check(hr_reduce(get(), input, output, count, dtype_of<T>(), op, root, limits));
  }
  template <typename T>
  void all_reduce(const T* input, T* output, uint64_t count, hr_reduce_op op = HR_SUM,
                  const hr_limits* limits = nullptr) {
    check(hr_all_reduce(get(), input, output, count, dtype_of<T>(), op, limits));
  }
  template <typename T>
  Work all_reduce_start(const T* input, T* output, uint64_t count, hr_reduce_op op = HR_SUM) {
    return Work(detail::made<hr_work*>(hr_all_reduce_start, get(), input, output, count,
                                       dtype_of<T>(), op));
  }
  template <typename T>
  void gather(const T* input, T* output, uint64_t count, int32_t root,
              const hr_limits* limits = nullptr) {
    check(hr_gather(get(), input, output, count, dtype_of<T>(), root, limits));
  }
  template <typename T>
  void all_gather(const T* input, T* output, uint64_t count, const hr_limits* limits = nullptr) {
    check(hr_all_gather(get(), input, output, count, dtype_of<T>(), limits));
  }
  template <typename T>
  void scatter(const T* input, T* output, uint64_t count, int32_t root,
               const hr_limits* limits = nullptr) {
    check(hr_scatter(get(), input, output, count, dtype_of<T>(), root, limits));
  }
  template <typename T>
  void reduce_scatter(const T* input, T* output, uint64_t count, hr_reduce_op op = HR_SUM,
                      const hr_limits* limits = nullptr) {
    check(hr_reduce_scatter(get(), input, output, count, dtype_of<T>(), op, limits));
  }
  template <typename T>
  void all_to_all(const T* input, T* output, uint64_t count, const hr_limits* limits = nullptr) {
    check(hr_all_to_all(get(), input, output, count, dtype_of<T>(), limits));
  }
  // Starts any operation; its struct_size is set here.
  Work start(hr_operation operation) {
    operation.struct_size = sizeof operation;
    return Work(detail::made<hr_work*>(hr_group_start, get(), &operation));
  }

 private:
  explicit Group(hr_group* owned) : Handle(owned) {}
  template <typename... Parameters, typename... Arguments>
  static hr_group* make(hr_status* (*function)(Parameters...), Arguments... arguments) {
    return detail::made<hr_group*>(function, arguments...);
  }
};

}  // namespace cpp
}  // namespace hr

#endif  // HEADRACE_CPP_COMM_HPP_
