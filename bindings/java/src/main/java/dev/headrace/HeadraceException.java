package dev.headrace;

/**
 * A failure. The message says what was expected, what came and what to do. Each code has a class of
 * its own below. If a function of the program (an operator, a data set, a store) has thrown an
 * exception, that is the cause.
 */
public class HeadraceException extends RuntimeException {
  private static final long serialVersionUID = 1;

  private final ErrorCode code;
  private final String node;

  HeadraceException(ErrorCode code, String message, String node, Throwable cause) {
    super(message, cause);
    this.code = code;
    this.node = node;
  }

  /** Returns the kind of failure. */
  public final ErrorCode code() {
    return code;
  }

  /** Returns the name of the node that has failed; "" if no node is to blame. */
  public final String node() {
    return node;
  }

  /** Returns what can be done about failures of this code. */
  public final String advice() {
    return code.advice();
  }

  /** Returns the class, the node if there is one, and the message. */
  @Override
  public String toString() {
    String where = node.isEmpty() ? "" : " (node \"" + node + "\")";
    return getClass().getName() + where + ": " + getMessage();
  }

  static HeadraceException of(int number, String message, String node, Throwable cause) {
    ErrorCode code = ErrorCode.of(number);
    return switch (code) {
      case CANCELLED -> new Cancelled(message, node, cause);
      case UNKNOWN -> new Unknown(message, node, cause);
      case INVALID_ARGUMENT -> new InvalidArgument(message, node, cause);
      case DEADLINE_EXCEEDED -> new DeadlineExceeded(message, node, cause);
      case NOT_FOUND -> new NotFound(message, node, cause);
      case ALREADY_EXISTS -> new AlreadyExists(message, node, cause);
      case PERMISSION_DENIED -> new PermissionDenied(message, node, cause);
      case RESOURCE_EXHAUSTED -> new ResourceExhausted(message, node, cause);
      case FAILED_PRECONDITION -> new FailedPrecondition(message, node, cause);
      case ABORTED -> new Aborted(message, node, cause);
      case OUT_OF_RANGE -> new OutOfRange(message, node, cause);
      case UNIMPLEMENTED -> new Unimplemented(message, node, cause);
      case INTERNAL -> new Internal(message, node, cause);
      case UNAVAILABLE -> new Unavailable(message, node, cause);
      case DATA_LOSS -> new DataLoss(message, node, cause);
      case UNAUTHENTICATED -> new Unauthenticated(message, node, cause);
      case TAINTED -> new Tainted(message, node, cause);
      case ARBITER_LOST -> new ArbiterLost(message, node, cause);
      case DEVICE_LOST -> new DeviceLost(message, node, cause);
      case OTHER -> new HeadraceException(code, message, node, cause);
    };
  }

  /**
   * The limits of the call, or an interrupt of the thread, have ended it. The thread's
   * interrupt status stays as it is.
   */
  public static final class Cancelled extends HeadraceException {
    private static final long serialVersionUID = 1;

    /** Makes one, for a function of the program to throw. */
    public Cancelled(String message) {
      this(message, null);
    }

    /** Makes one with a cause, for a function of the program to throw. */
    public Cancelled(String message, Throwable cause) {
      this(message, "", cause);
    }

    Cancelled(String message, String node, Throwable cause) {
      super(ErrorCode.CANCELLED, message, node, cause);
    }
  }

  /** A function of the program has failed without a code: see the cause. */
  public static final class Unknown extends HeadraceException {
    private static final long serialVersionUID = 1;

    /** Makes one, for a function of the program to throw. */
    public Unknown(String message) {
      this(message, null);
    }

    /** Makes one with a cause, for a function of the program to throw. */
    public Unknown(String message, Throwable cause) {
      this(message, "", cause);
    }

    Unknown(String message, String node, Throwable cause) {
      super(ErrorCode.UNKNOWN, message, node, cause);
    }
  }

  /** An argument, a file, a tensor or a setting is invalid. */
  public static final class InvalidArgument extends HeadraceException {
    private static final long serialVersionUID = 1;

    /** Makes one, for a function of the program to throw. */
    public InvalidArgument(String message) {
      this(message, null);
    }

    /** Makes one with a cause, for a function of the program to throw. */
    public InvalidArgument(String message, Throwable cause) {
      this(message, "", cause);
    }

    InvalidArgument(String message, String node, Throwable cause) {
      super(ErrorCode.INVALID_ARGUMENT, message, node, cause);
    }
  }

  /** The deadline of the call has passed. */
  public static final class DeadlineExceeded extends HeadraceException {
    private static final long serialVersionUID = 1;

    /** Makes one, for a function of the program to throw. */
    public DeadlineExceeded(String message) {
      this(message, null);
    }

    /** Makes one with a cause, for a function of the program to throw. */
    public DeadlineExceeded(String message, Throwable cause) {
      this(message, "", cause);
    }

    DeadlineExceeded(String message, String node, Throwable cause) {
      super(ErrorCode.DEADLINE_EXCEEDED, message, node, cause);
    }
  }

  /** There is nothing of this name. */
  public static final class NotFound extends HeadraceException {
    private static final long serialVersionUID = 1;

    /** Makes one, for a function of the program to throw. */
    public NotFound(String message) {
      this(message, null);
    }

    /** Makes one with a cause, for a function of the program to throw. */
    public NotFound(String message, Throwable cause) {
      this(message, "", cause);
    }

    NotFound(String message, String node, Throwable cause) {
      super(ErrorCode.NOT_FOUND, message, node, cause);
    }
  }

  /** There is something of this name already. */
  public static final class AlreadyExists extends HeadraceException {
    private static final long serialVersionUID = 1;

    /** Makes one, for a function of the program to throw. */
    public AlreadyExists(String message) {
      this(message, null);
    }

    /** Makes one with a cause, for a function of the program to throw. */
    public AlreadyExists(String message, Throwable cause) {
      this(message, "", cause);
    }

    AlreadyExists(String message, String node, Throwable cause) {
      super(ErrorCode.ALREADY_EXISTS, message, node, cause);
    }
  }

  /** The system does not allow it. */
  public static final class PermissionDenied extends HeadraceException {
    private static final long serialVersionUID = 1;

    /** Makes one, for a function of the program to throw. */
    public PermissionDenied(String message) {
      this(message, null);
    }

    /** Makes one with a cause, for a function of the program to throw. */
    public PermissionDenied(String message, Throwable cause) {
      this(message, "", cause);
    }

    PermissionDenied(String message, String node, Throwable cause) {
      super(ErrorCode.PERMISSION_DENIED, message, node, cause);
    }
  }

  /** There is no memory, disk space or file descriptor left. */
  public static final class ResourceExhausted extends HeadraceException {
    private static final long serialVersionUID = 1;

    /** Makes one, for a function of the program to throw. */
    public ResourceExhausted(String message) {
      this(message, null);
    }

    /** Makes one with a cause, for a function of the program to throw. */
    public ResourceExhausted(String message, Throwable cause) {
      this(message, "", cause);
    }

    ResourceExhausted(String message, String node, Throwable cause) {
      super(ErrorCode.RESOURCE_EXHAUSTED, message, node, cause);
    }
  }

  /** The call is not allowed now, for example because the object is closed. */
  public static final class FailedPrecondition extends HeadraceException {
    private static final long serialVersionUID = 1;

    /** Makes one, for a function of the program to throw. */
    public FailedPrecondition(String message) {
      this(message, null);
    }

    /** Makes one with a cause, for a function of the program to throw. */
    public FailedPrecondition(String message, Throwable cause) {
      this(message, "", cause);
    }

    FailedPrecondition(String message, String node, Throwable cause) {
      super(ErrorCode.FAILED_PRECONDITION, message, node, cause);
    }
  }

  /** A rank has ended its group. */
  public static final class Aborted extends HeadraceException {
    private static final long serialVersionUID = 1;

    /** Makes one, for a function of the program to throw. */
    public Aborted(String message) {
      this(message, null);
    }

    /** Makes one with a cause, for a function of the program to throw. */
    public Aborted(String message, Throwable cause) {
      this(message, "", cause);
    }

    Aborted(String message, String node, Throwable cause) {
      super(ErrorCode.ABORTED, message, node, cause);
    }
  }

  /** A data set has no more data, or an index lies outside of its tensor. */
  public static final class OutOfRange extends HeadraceException {
    private static final long serialVersionUID = 1;

    /** Makes one, for a function of the program to throw. */
    public OutOfRange(String message) {
      this(message, null);
    }

    /** Makes one with a cause, for a function of the program to throw. */
    public OutOfRange(String message, Throwable cause) {
      this(message, "", cause);
    }

    OutOfRange(String message, String node, Throwable cause) {
      super(ErrorCode.OUT_OF_RANGE, message, node, cause);
    }
  }

  /** The feature exists, but not in this version or build. */
  public static final class Unimplemented extends HeadraceException {
    private static final long serialVersionUID = 1;

    /** Makes one, for a function of the program to throw. */
    public Unimplemented(String message) {
      this(message, null);
    }

    /** Makes one with a cause, for a function of the program to throw. */
    public Unimplemented(String message, Throwable cause) {
      this(message, "", cause);
    }

    Unimplemented(String message, String node, Throwable cause) {
      super(ErrorCode.UNIMPLEMENTED, message, node, cause);
    }
  }

  /** A bug of the library. */
  public static final class Internal extends HeadraceException {
    private static final long serialVersionUID = 1;

    /** Makes one, for a function of the program to throw. */
    public Internal(String message) {
      this(message, null);
    }

    /** Makes one with a cause, for a function of the program to throw. */
    public Internal(String message, Throwable cause) {
      this(message, "", cause);
    }

    Internal(String message, String node, Throwable cause) {
      super(ErrorCode.INTERNAL, message, node, cause);
    }
  }

  /** The system has failed, or a rank is dead, silent or has left. */
  public static final class Unavailable extends HeadraceException {
    private static final long serialVersionUID = 1;

    /** Makes one, for a function of the program to throw. */
    public Unavailable(String message) {
      this(message, null);
    }

    /** Makes one with a cause, for a function of the program to throw. */
    public Unavailable(String message, Throwable cause) {
      this(message, "", cause);
    }

    Unavailable(String message, String node, Throwable cause) {
      super(ErrorCode.UNAVAILABLE, message, node, cause);
    }
  }

  /** A file is damaged. */
  public static final class DataLoss extends HeadraceException {
    private static final long serialVersionUID = 1;

    /** Makes one, for a function of the program to throw. */
    public DataLoss(String message) {
      this(message, null);
    }

    /** Makes one with a cause, for a function of the program to throw. */
    public DataLoss(String message, Throwable cause) {
      this(message, "", cause);
    }

    DataLoss(String message, String node, Throwable cause) {
      super(ErrorCode.DATA_LOSS, message, node, cause);
    }
  }

  /** A rank has another cluster secret, or none. */
  public static final class Unauthenticated extends HeadraceException {
    private static final long serialVersionUID = 1;

    /** Makes one, for a function of the program to throw. */
    public Unauthenticated(String message) {
      this(message, null);
    }

    /** Makes one with a cause, for a function of the program to throw. */
    public Unauthenticated(String message, Throwable cause) {
      this(message, "", cause);
    }

    Unauthenticated(String message, String node, Throwable cause) {
      super(ErrorCode.UNAUTHENTICATED, message, node, cause);
    }
  }

  /** An update of the session's variables has failed half-way: restore a checkpoint. */
  public static final class Tainted extends HeadraceException {
    private static final long serialVersionUID = 1;

    /** Makes one, for a function of the program to throw. */
    public Tainted(String message) {
      this(message, null);
    }

    /** Makes one with a cause, for a function of the program to throw. */
    public Tainted(String message, Throwable cause) {
      this(message, "", cause);
    }

    Tainted(String message, String node, Throwable cause) {
      super(ErrorCode.TAINTED, message, node, cause);
    }
  }

  /** The process that decides about a group's failures is gone. */
  public static final class ArbiterLost extends HeadraceException {
    private static final long serialVersionUID = 1;

    /** Makes one, for a function of the program to throw. */
    public ArbiterLost(String message) {
      this(message, null);
    }

    /** Makes one with a cause, for a function of the program to throw. */
    public ArbiterLost(String message, Throwable cause) {
      this(message, "", cause);
    }

    ArbiterLost(String message, String node, Throwable cause) {
      super(ErrorCode.ARBITER_LOST, message, node, cause);
    }
  }

  /** A device has failed for good. */
  public static final class DeviceLost extends HeadraceException {
    private static final long serialVersionUID = 1;

    /** Makes one, for a function of the program to throw. */
    public DeviceLost(String message) {
      this(message, null);
    }

    /** Makes one with a cause, for a function of the program to throw. */
    public DeviceLost(String message, Throwable cause) {
      this(message, "", cause);
    }

    DeviceLost(String message, String node, Throwable cause) {
      super(ErrorCode.DEVICE_LOST, message, node, cause);
    }
  }
}
