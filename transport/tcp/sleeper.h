// What a thread sleeps on until sockets are ready: a libuv loop that is only ever looked at, never
// waited in. Its backend's descriptor becomes readable when one of the watched sockets is ready.
#pragma once

#include <memory>

#include "runtime/base/result.h"

namespace hr::tcp {

class Sleeper {
 public:
  static Result<std::unique_ptr<Sleeper>> Create();
  // After its watches.
  ~Sleeper();

  // A socket in the loop. The socket is closed after its watch.
  class Watch;
  Result<std::unique_ptr<Watch>> Add(int socket);

  // Applies what the watches want. True if no watched socket is ready.
  bool Arm();
  int wait_handle() const;

 private:
  struct State;
  explicit Sleeper(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

class Sleeper::Watch {
 public:
  ~Watch();
  void Want(bool read, bool write);

 private:
  friend class Sleeper;
  struct Handle;
  explicit Watch(Handle* handle) : handle_(handle) {}
  Handle* handle_;  // freed by the loop
};

}  // namespace hr::tcp
