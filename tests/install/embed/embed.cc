// A host in C++: embed.c's graph through the wrapper.
#include <cstdio>
#include <headrace/headrace.hpp>

int main() {
  hr::Env env(1);
  hr::Graph graph(env);
  const hr_value sum =
      graph.op("Add", {graph.input("a", HR_FLOAT32, {}), graph.input("b", HR_FLOAT32, {})});
  graph.name(sum, "sum");
  hr::Session session{hr::Model(graph)};
  hr::Call call(session, {"a", "b"}, {"sum"});
  call.bind("a", 1).bind("b", 2).run();
  const float result = *call.result("sum").data<float>();
  std::printf("1 + 2 = %g\n", result);
  return result == 3 ? 0 : 1;
}
