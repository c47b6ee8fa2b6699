package dev.headrace;

import java.util.ArrayList;
import java.util.List;

/**
 * An operator of the program, which graphs, gradients, files and plans treat like a built-in one.
 * Its functions may be called from any thread, several at a time. What they throw is the cause of
 * the failure of the call that needed the operator, whose message names the node.
 */
public abstract class Operator {
  private final String name;
  private int version = 1;
  private int minInputs = 1;
  private int maxInputs = 1;
  private int minOutputs = 1;
  private int maxOutputs = 1;
  private final List<Attribute> attributes = new ArrayList<>();

  /** Makes an operator with one input and one output. The name is such as "com.example.Swish". */
  protected Operator(String name) {
    this.name = name;
  }

  private record Attribute(String name, AttributeKind kind, boolean required) {}

  /** What an attribute holds. */
  public enum AttributeKind {
    /** An integer. */
    INT(Constants.HR_ATTRIBUTE_INT),
    /** A number. */
    FLOAT(Constants.HR_ATTRIBUTE_FLOAT),
    /** A text. */
    STRING(Constants.HR_ATTRIBUTE_STRING),
    /** A list of integers. */
    INTS(Constants.HR_ATTRIBUTE_INTS),
    /** A list of numbers. */
    FLOATS(Constants.HR_ATTRIBUTE_FLOATS),
    /** A list of texts. */
    STRINGS(Constants.HR_ATTRIBUTE_STRINGS);

    private final int number;

    AttributeKind(int number) {
      this.number = number;
    }
  }

  /** Sets the version of this definition. */
  protected final void version(int number) {
    version = number;
  }

  /** Sets how many inputs there may be; -1: any number. */
  protected final void inputs(int min, int max) {
    minInputs = min;
    maxInputs = max;
  }

  /** Sets how many outputs there may be; -1: any number. */
  protected final void outputs(int min, int max) {
    minOutputs = min;
    maxOutputs = max;
  }

  /** Adds an attribute. */
  protected final void attribute(String attribute, AttributeKind kind, boolean required) {
    attributes.add(new Attribute(attribute, kind, required));
  }

  /** Checks the types of the inputs and sets those of all outputs. */
  protected abstract void infer(OperatorContext.Types op) throws Exception;

  /** Computes the outputs, which must depend on the inputs and attributes only. */
  protected abstract void compute(OperatorContext.Kernel op) throws Exception;

  /** Returns whether there is a {@link #gradient}; otherwise gradients stop at the node. */
  protected boolean hasGradient() {
    return false;
  }

  /** Adds the nodes that compute the gradients of the inputs. */
  protected void gradient(OperatorContext.Gradient op) throws Exception {
    throw new UnsupportedOperationException("the operator has no gradient");
  }

  /** Called once when the env and all that uses it are gone. */
  protected void released() throws Exception {}

  final void addTo(Env env) {
    long context = Registry.add(new Adapter(this));
    try {
      env.check((self, s) -> Raw.hr_env_add_operator(self, struct(context, s)));
    } catch (Throwable e) {
      Registry.remove(context);
      throw e;
    }
  }

  private long struct(long context, Scratch s) {
    Structs.hr_operator out = new Structs.hr_operator(s);
    out.name(s.text(name));
    out.version(version);
    out.min_inputs(minInputs);
    out.max_inputs(maxInputs);
    out.min_outputs(minOutputs);
    out.max_outputs(maxOutputs);
    out.attribute_count(attributes.size());
    out.attributes(attributes(s));
    out.context(context);
    out.use_release();
    out.use_infer();
    out.use_compute();
    if (hasGradient()) out.use_gradient();
    return out.address;
  }

  private long attributes(Scratch s) {
    long out = s.bytes((long) Structs.hr_operator_attribute.BYTES * attributes.size());
    for (int i = 0; i < attributes.size(); ++i) {
      Structs.hr_operator_attribute to = new Structs.hr_operator_attribute(
          out + (long) i * Structs.hr_operator_attribute.BYTES);
      to.struct_size(Structs.hr_operator_attribute.BYTES);
      to.name(s.text(attributes.get(i).name));
      to.kind(attributes.get(i).kind.number);
      to.required(Graph.flag(attributes.get(i).required));
    }
    return out;
  }

  /** The operator as the library calls it. */
  private record Adapter(Operator operator) implements Callbacks.hr_operator_infer,
      Callbacks.hr_operator_compute, Callbacks.hr_operator_gradient, Registry.Released {
    @Override
    public void hr_operator_infer(long op) throws Exception {
      try (OperatorContext.Types types = new OperatorContext.Types(op)) {
        operator.infer(types);
      }
    }

    @Override
    public void hr_operator_compute(long op) throws Exception {
      try (OperatorContext.Kernel kernel = new OperatorContext.Kernel(op)) {
        operator.compute(kernel);
      }
    }

    @Override
    public void hr_operator_gradient(long op) throws Exception {
      try (OperatorContext.Gradient gradient = new OperatorContext.Gradient(op)) {
        operator.gradient(gradient);
      }
    }

    @Override
    public void released() throws Exception {
      operator.released();
    }
  }
}
