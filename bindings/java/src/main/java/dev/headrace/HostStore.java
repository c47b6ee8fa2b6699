package dev.headrace;

/**
 * A store of the program, for example in a data base. The functions may be called by any thread,
 * several at a time. What they throw is the cause of the failure of the call that needed the store.
 */
public interface HostStore {
  /** Returns the value of a key; null if there is no such key. */
  byte[] get(String key) throws Exception;

  /**
   * Sets a key if its value is {@code expected}, or, if that is null, if the key does not exist.
   * Returns whether it was set. The step is atomic for all ranks.
   */
  boolean compareAndSwap(String key, byte[] expected, byte[] desired) throws Exception;

  /** Removes a key if it exists. */
  void remove(String key) throws Exception;

  /** Called once when the store and all groups that use it are gone. */
  default void released() throws Exception {}
}
