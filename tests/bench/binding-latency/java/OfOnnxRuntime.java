import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtSession;
import java.nio.FloatBuffer;
import java.util.Map;
import java.util.Set;

/** A model in ONNX Runtime. It has no binding of inputs; a map of prepared tensors comes next. */
final class OfOnnxRuntime implements Engine {
  private final OrtEnvironment env = OrtEnvironment.getEnvironment();
  private final OrtSession session;
  private final Map<String, OnnxTensor> inputs;
  private final Map<String, OnnxTensor> outputs;

  OfOnnxRuntime(String folder, String name, FloatBuffer y, int threads) throws OrtException {
    OrtSession.SessionOptions options = new OrtSession.SessionOptions();
    options.setIntraOpNumThreads(threads);
    session = env.createSession(folder + "/" + name + ".onnx", options);
    boolean isMagika = name.equals("magika");
    long[] shape = isMagika ? new long[] {1, 214} : new long[] {4};
    String[] names = Engine.names(name);
    inputs = Map.of(names[0], isMagika
        ? OnnxTensor.createTensor(env, Engine.bytes(), new long[] {1, 2048})
        : OnnxTensor.createTensor(env, Engine.numbers(), shape));
    outputs = Map.of(names[1], OnnxTensor.createTensor(env, y, shape));
  }

  @Override
  public void run() throws OrtException {
    session.run(inputs, Set.of(), outputs).close();
  }

  @Override
  public String version() {
    return env.getVersion();
  }
}
