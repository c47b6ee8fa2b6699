package dev.headrace;

/**
 * The tensors of an operation, each of which may be null, and their elements: how many there are,
 * counted as the library does, and their type.
 */
record Shape(Tensor input, Tensor output, long count, int dtype) {
  /** The same as addresses, which are valid as long as the tensors are in use. */
  record Buffers(long input, long output, long count, int dtype) {}

  static Shape sent(Tensor tensor) {
    return new Shape(tensor, null, tensor.elements(), tensor.dtype().number());
  }

  static Shape received(Tensor tensor) {
    return new Shape(null, tensor, tensor.elements(), tensor.dtype().number());
  }

  /** Input and output of equal sizes; one of them may be null. */
  static Shape same(Tensor input, Tensor output) {
    return of(input, 1, output, 1);
  }

  /** An output with a block for each rank; it may be null. */
  static Shape gather(Tensor input, Tensor output, int ranks) {
    return of(input, 1, output, ranks);
  }

  /** An input with a block for each rank; it may be null. */
  static Shape scatter(Tensor input, Tensor output, int ranks) {
    return of(input, ranks, output, 1);
  }

  /** An input and an output with a block for each rank. */
  static Shape blocks(Tensor input, Tensor output, int ranks) {
    return of(input, ranks, output, ranks);
  }

  private static Shape of(Tensor input, long inputBlocks, Tensor output, long outputBlocks) {
    Tensor known = input != null && (inputBlocks == 1 || output == null) ? input : output;
    if (known == null) throw new HeadraceException.InvalidArgument("the operation needs a tensor");
    long count = known.elements() / (known == input ? inputBlocks : outputBlocks);
    if (input != null) require(input, known.dtype(), count * inputBlocks);
    if (output != null) require(output, known.dtype(), count * outputBlocks);
    return new Shape(input, output, count, known.dtype().number());
  }

  /** Fails if a tensor has not just these elements. */
  static void require(Tensor tensor, DType dtype, long elements) {
    if (tensor.dtype() == dtype && tensor.elements() == elements) return;
    throw new HeadraceException.InvalidArgument("the operation needs a tensor with " + elements
        + " elements of " + dtype + ", not " + tensor);
  }

  /** Begins the use of the tensors. */
  Buffers use(Uses uses) {
    return new Buffers(read(input, uses), written(output, uses), count, dtype);
  }

  /** Begins the use of a tensor, which may be null, and returns the address of its elements. */
  static long read(Tensor tensor, Uses uses) {
    if (tensor == null) return 0;
    long self = uses.of(tensor);
    if (Raw.hr_tensor_strides(self) == 0) return Raw.hr_tensor_device_data(self);
    throw new HeadraceException.InvalidArgument(
        "operations need contiguous tensors; copy this one first: " + tensor);
  }

  /** As above, of a tensor that is written. */
  static long written(Tensor tensor, Uses uses) {
    long out = read(tensor, uses);
    if (tensor == null || !tensor.isReadOnly()) return out;
    throw new HeadraceException.InvalidArgument("the output must not be read-only: " + tensor);
  }
}
