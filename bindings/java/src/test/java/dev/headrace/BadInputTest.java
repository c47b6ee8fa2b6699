package dev.headrace;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;

/** What belongs to no class alone: it is an error of the right type, never a crash or a hang. */
@Timeout(60)
class BadInputTest {
  @Test
  void closedObjectsOfEveryKindSaySo(@TempDir Path folder) throws Exception {
    Env env = new Env();
    Graph graph = new Graph(env);
    Model model = Small.doubler(env);
    Session session = new Session(model);
    Call call = session.call("infer");
    call.bind("x", Tensor.wrap(Small.floats(1), 1));
    Run run = call.start(Limits.NONE);
    run.await(Limits.NONE);
    Dataset data = Dataset.of(env, Map.of("x", Tensor.wrap(Small.floats(1), 1)), new DatasetOptions());
    CompletionQueue queue = new CompletionQueue(env);
    Store store = new Store(env, "memory:");
    Group group = Group.create(env, new GroupOptions().rank(0, 1).store(store), null);
    Work work = group.startBarrier();
    work.await(Limits.NONE);
    Launch launch = new Launch();
    Summary summary = new Summary(folder.toString());
    CancelToken token = new CancelToken();
    Map<AutoCloseable, Executable> uses = new LinkedHashMap<>();
    uses.put(graph, graph::info);
    uses.put(model, model::describe);
    uses.put(session, session::describe);
    uses.put(call, call::run);
    uses.put(run, () -> run.await(Limits.NONE));
    uses.put(data, data::next);
    uses.put(queue, queue::poll);
    uses.put(store, store::url);
    uses.put(work, () -> work.await(Limits.NONE));
    uses.put(group, group::barrier);
    uses.put(launch, launch::describe);
    uses.put(summary, summary::flush);
    uses.put(token, token::cancel);
    uses.put(env, env::describe);
    for (Map.Entry<AutoCloseable, Executable> one : uses.entrySet()) {
      one.getKey().close();
      one.getKey().close();
      assertThrows(HeadraceException.FailedPrecondition.class, one.getValue(),
          () -> one.getKey().getClass().getName());
    }
  }

  @Test
  void whatACompletionThrowsIsUncaught() throws Exception {
    CompletableFuture<Throwable> thrown = new CompletableFuture<>();
    Thread.UncaughtExceptionHandler before = Thread.getDefaultUncaughtExceptionHandler();
    Thread.setDefaultUncaughtExceptionHandler((thread, e) -> thrown.complete(e));
    try (Env env = new Env(); Model model = Small.doubler(env); Session session = new Session(model);
        Call call = session.call("infer"); Tensor x = Tensor.wrap(Small.floats(1), 1)) {
      call.bind("x", x);
      try (Run run = call.start(Limits.NONE)) {
        run.onDone(failure -> {
          throw new IllegalStateException("mine");
        });
        run.await(Limits.NONE);
        assertInstanceOf(IllegalStateException.class, thrown.get(20, TimeUnit.SECONDS));
      }
      call.run();
    } finally {
      Thread.setDefaultUncaughtExceptionHandler(before);
    }
  }

  /** A process that waits while signals come, for which it has a handler. */
  public static final class Signalled {
    private Signalled() {}

    /** Prints how the wait has ended, if signals came meanwhile. */
    public static void main(String[] arguments) throws Exception {
      // Of the module jdk.unsupported, which a program on the class path can use.
      Class<?> signal = Class.forName("sun.misc.Signal");
      Class<?> handler = Class.forName("sun.misc.SignalHandler");
      Object user = signal.getConstructor(String.class).newInstance("USR1");
      AtomicInteger seen = new AtomicInteger();
      Object counts = Proxy.newProxyInstance(handler.getClassLoader(), new Class<?>[] {handler},
          (proxy, method, given) -> seen.incrementAndGet());
      signal.getMethod("handle", signal, handler).invoke(null, user, counts);
      Thread sender = new Thread(() -> {
        try {
          while (true) {
            signal.getMethod("raise", signal).invoke(null, user);
            Thread.sleep(1);
          }
        } catch (ReflectiveOperationException | InterruptedException e) {
          throw new IllegalStateException(e);
        }
      });
      sender.setDaemon(true);
      sender.start();
      try (Env env = new Env(); CompletionQueue queue = new CompletionQueue(env)) {
        queue.take(Limits.timeout(Duration.ofMillis(300)));
      } catch (HeadraceException.DeadlineExceeded e) {
        System.out.println(seen.get() > 10 ? "waited" : "there were no signals");
      }
    }
  }

  @Test
  void signalsDoNotEndAWait() throws Exception {
    Process process = new ProcessBuilder(
        Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-cp",
        System.getProperty("java.class.path"), Signalled.class.getName())
        .redirectErrorStream(true).start();
    String out = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertEquals(0, process.waitFor(), out);
    assertTrue(out.contains("waited"), out);
  }
}
