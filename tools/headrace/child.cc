#include "tools/headrace/child.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "tools/headrace/errors.h"

extern char** environ;

namespace headrace::tool {
namespace {

[[noreturn]] void Fail(const std::string& what, int error) {
  throw Failure(what + ": " + std::strerror(error));
}

std::vector<char*> Pointers(const std::vector<std::string>& words) {
  std::vector<char*> out;
  for (const std::string& word : words) out.push_back(const_cast<char*>(word.c_str()));
  return out;
}

}  // namespace

Child::Child(const std::vector<std::string>& arguments, const std::vector<std::string>& variables) {
  std::signal(SIGPIPE, SIG_IGN);  // a child that ended is found when its answer does not come
  int in[2], out[2];
  if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0) Fail("cannot create a pipe", errno);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
  std::vector<std::string> words = {"headrace"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv = Pointers(words), env = Pointers(variables);
  argv.push_back(nullptr);
  for (char** variable = environ; *variable != nullptr; ++variable) env.push_back(*variable);
  env.push_back(nullptr);
  const int error =
      posix_spawn(&pid_, "/proc/self/exe", &actions, nullptr, argv.data(), env.data());
  posix_spawn_file_actions_destroy(&actions);
  close(in[0]);
  close(out[1]);
  to_ = in[1];
  from_ = out[0];
  if (error != 0) {
    pid_ = -1;
    close(to_);
    close(from_);
    Fail("cannot start a second process of this program", error);
  }
}

Child::~Child() { Wait(); }

int Child::Wait() {
  if (pid_ < 0) return 0;
  close(to_);
  close(from_);
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) continue;
  pid_ = -1;
  return status;
}

std::string Child::Read() {
  while (true) {
    const size_t end = read_.find('\n');
    if (end != std::string::npos) {
      std::string line = read_.substr(0, end);
      read_.erase(0, end + 1);
      return line;
    }
    char bytes[4096];
    const ssize_t count = read(from_, bytes, sizeof bytes);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    read_.append(bytes, static_cast<size_t>(count));
  }
  const int status = Wait();
  throw Failure("a process that measured ended with " +
                (WIFSIGNALED(status) ? "signal " + std::to_string(WTERMSIG(status))
                                     : "status " + std::to_string(WEXITSTATUS(status))));
}

std::string Child::Ask(const std::string& line) {
  const std::string text = line + "\n";
  if (write(to_, text.data(), text.size()) < 0 && errno != EPIPE) {
    Fail("cannot ask a process that measures", errno);
  }
  return Read();
}

}  // namespace headrace::tool
