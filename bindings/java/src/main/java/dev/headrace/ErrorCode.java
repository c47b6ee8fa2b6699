package dev.headrace;

import java.util.Locale;

/** What kind of failure it is, and what can be done about it. */
public enum ErrorCode {
  /** The limits of the call, or an interrupt, have ended it. */
  CANCELLED(1, "Somebody wanted the call to end; it may be made again."),
  /** A function of the program has failed without a code. */
  UNKNOWN(2, "See the cause."),
  /** An argument, a file, a tensor or a setting is invalid. */
  INVALID_ARGUMENT(3, "Mend the argument; the same call will fail again."),
  /** The deadline of the call has passed. */
  DEADLINE_EXCEEDED(4, "Give the call more time, or find out what it waits for."),
  /** There is nothing of this name. */
  NOT_FOUND(5, "Compare the name with those that exist."),
  /** There is something of this name already. */
  ALREADY_EXISTS(6, "Take another name."),
  /** The system does not allow it. */
  PERMISSION_DENIED(7, "Look at the permissions of the file."),
  /** There is no memory, disk space or file descriptor left. Nothing has changed. */
  RESOURCE_EXHAUSTED(8, "Free memory, disk space or files, and try again."),
  /** The call is not allowed now. */
  FAILED_PRECONDITION(9, "Bring the object into the state that the call needs."),
  /** A rank has ended its group. */
  ABORTED(10, "Go on with the ranks that are left, or start all again."),
  /** A data set has no more data, or an index lies outside of its tensor. */
  OUT_OF_RANGE(11, "Rewind the data set, or mend the index."),
  /** The feature exists, but not in this version or build. */
  UNIMPLEMENTED(12, "Use another way, or another build of the library."),
  /** A bug of the library. */
  INTERNAL(13, "Report it."),
  /** The system has failed, perhaps only this time; or a rank is dead, silent or has left. */
  UNAVAILABLE(14, "Try again; shrink a group."),
  /** A file is damaged. */
  DATA_LOSS(15, "Take another copy of the file."),
  /** A rank has another cluster secret, or none. */
  UNAUTHENTICATED(16, "Give all ranks the same secret."),
  /** An update of the session's variables has failed half-way. */
  TAINTED(17, "Restore a checkpoint."),
  /** The process that decides about a group's failures is gone. */
  ARBITER_LOST(18, "Start all ranks again."),
  /** A device has failed for good. */
  DEVICE_LOST(19, "Make a new env without the device."),
  /** A code that this binding does not know, because the library is newer. */
  OTHER(-1, "Read the message; a newer binding knows the code.");

  private final int number;
  private final String advice;

  ErrorCode(int number, String advice) {
    this.number = number;
    this.advice = advice;
  }

  int number() {
    return number;
  }

  /** Returns what can be done about such failures; a message says more. */
  public String advice() {
    return advice;
  }

  /** Returns the code of this number; {@link #OTHER} if there is none. */
  static ErrorCode of(int number) {
    for (ErrorCode one : values()) {
      if (one.number == number) return one;
    }
    return OTHER;
  }

  /** Returns the code's name in small letters. */
  String words() {
    return name().toLowerCase(Locale.ROOT).replace('_', ' ');
  }
}
