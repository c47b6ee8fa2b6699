import dev.headrace.Call;
import dev.headrace.DType;
import dev.headrace.Env;
import dev.headrace.EnvOptions;
import dev.headrace.Headrace;
import dev.headrace.Model;
import dev.headrace.Session;
import dev.headrace.Tensor;
import java.nio.FloatBuffer;

/** A model in Headrace. */
final class OfHeadrace implements Engine {
  private final Call call;

  OfHeadrace(String folder, String name, FloatBuffer y, int threads) {
    Env env = new Env(new EnvOptions().threads(threads));
    call = new Session(Model.load(env, folder + "/" + name + ".hrg")).call("infer");
    String[] names = Engine.names(name);
    call.bind(names[0], name.equals("magika")
        ? Tensor.wrap(Engine.bytes(), DType.INT32, 1, 2048) : Tensor.wrap(Engine.numbers(), 4));
    call.output(names[1], y);
  }

  @Override
  public void run() {
    call.run();
  }

  @Override
  public String version() {
    return Headrace.version();
  }
}
