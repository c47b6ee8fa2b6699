package dev.headrace;

/** The type of a tensor's elements. */
public enum DType {
  /** No type: of an optional input that is omitted. */
  UNDEFINED(Constants.HR_UNDEFINED),
  /** 32-bit floating point. */
  FLOAT32(Constants.HR_FLOAT32),
  /** 8-bit integer without sign. */
  UINT8(Constants.HR_UINT8),
  /** 8-bit integer. */
  INT8(Constants.HR_INT8),
  /** 16-bit integer without sign. */
  UINT16(Constants.HR_UINT16),
  /** 16-bit integer. */
  INT16(Constants.HR_INT16),
  /** 32-bit integer. */
  INT32(Constants.HR_INT32),
  /** 64-bit integer. */
  INT64(Constants.HR_INT64),
  /** A byte that is 0 or 1. */
  BOOL(Constants.HR_BOOL),
  /** 16-bit floating point of IEEE 754. */
  FLOAT16(Constants.HR_FLOAT16),
  /** 64-bit floating point. */
  FLOAT64(Constants.HR_FLOAT64),
  /** 32-bit integer without sign. */
  UINT32(Constants.HR_UINT32),
  /** 64-bit integer without sign. */
  UINT64(Constants.HR_UINT64),
  /** The upper half of a 32-bit floating-point number. */
  BFLOAT16(Constants.HR_BFLOAT16),
  /** 8-bit floating point with 4 bits of exponent, without infinity. */
  FLOAT8E4M3FN(Constants.HR_FLOAT8E4M3FN),
  /** 8-bit floating point with 4 bits of exponent, without infinity and negative zero. */
  FLOAT8E4M3FNUZ(Constants.HR_FLOAT8E4M3FNUZ),
  /** 8-bit floating point with 5 bits of exponent. */
  FLOAT8E5M2(Constants.HR_FLOAT8E5M2),
  /** 8-bit floating point with 5 bits of exponent, without infinity and negative zero. */
  FLOAT8E5M2FNUZ(Constants.HR_FLOAT8E5M2FNUZ);

  private final int number;

  DType(int number) {
    this.number = number;
  }

  int number() {
    return number;
  }

  static DType of(int number) {
    for (DType one : values()) {
      if (one.number == number) return one;
    }
    throw new HeadraceException.Unimplemented(
        "the element type " + number + " is newer than this binding; use a newer one");
  }

  /** Returns the bytes of an element; 0 if tensors cannot hold the type. */
  public int bytes() {
    Library.load();
    return (int) Raw.hr_dtype_size(number);
  }

  /** Returns the name that the library uses, such as "float32". */
  @Override
  public String toString() {
    Library.load();
    return Native.text(Raw.hr_dtype_name(number));
  }
}
