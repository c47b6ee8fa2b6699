package dev.headrace;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

/** What the generator finds in the headers has its place in the layer that is written by hand. */
class CoverageTest {
  private static Set<Integer> numbers(Enum<?>[] constants) throws Exception {
    Set<Integer> out = new TreeSet<>();
    for (Enum<?> one : constants) {
      Field number = one.getDeclaringClass().getDeclaredField("number");
      number.setAccessible(true);
      out.add(number.getInt(one));
    }
    return out;
  }

  /** The constants of C that begin so, without some. */
  private static Set<Integer> constants(String prefix, String... but) throws Exception {
    Set<Integer> out = new TreeSet<>();
    for (Field one : Constants.class.getDeclaredFields()) {
      boolean wanted = one.getName().startsWith(prefix) && !Arrays.asList(but).contains(one.getName());
      if (wanted) out.add(one.getInt(null));
    }
    return out;
  }

  @Test
  void everyOperationHasAName() throws Exception {
    assertEquals(constants("HR_OPERATION_"), numbers(Request.Kind.values()));
    assertEquals(constants("HR_LOG_"), numbers(EnvOptions.LogLevel.values()));
    assertEquals(constants("HR_ATTRIBUTE_", "HR_ATTRIBUTE_TENSOR", "HR_ATTRIBUTE_GRAPH"),
        numbers(Operator.AttributeKind.values()));
  }

  @Test
  void everyCodeHasAnException() {
    assertEquals("TAINTED", Headrace.nameOf(ErrorCode.TAINTED));
    assertEquals(Constants.HR_API_VERSION, Headrace.apiVersion());
    for (int number = 1; number < 100; ++number) {
      boolean exists = number == Constants.HR_UNKNOWN || !nameOf(number).equals("UNKNOWN");
      ErrorCode code = ErrorCode.of(number);
      assertEquals(exists, code != ErrorCode.OTHER, "code " + number);
      HeadraceException e = HeadraceException.of(number, "m", "", null);
      assertEquals(code, e.code());
      if (exists) assertEquals(nameOf(number), code.name());
      if (exists) assertEquals(code.name().replace("_", "").toLowerCase(),
          e.getClass().getSimpleName().toLowerCase());
      assertTrue(e.advice().length() > 0);
    }
  }

  private static String nameOf(int code) {
    return Native.text(Raw.hr_code_name(code));
  }

  @Test
  void everyTypeOfElementsIsKnown() {
    for (int number = 0; number < 64; ++number) {
      if (Raw.hr_dtype_size(number) == 0) continue;
      DType dtype = DType.of(number);
      assertEquals(Raw.hr_dtype_size(number), dtype.bytes());
      assertEquals(dtype.name().toLowerCase(), dtype.toString());
    }
  }

  @Test
  void everyCallbackHasATrampoline() throws Exception {
    int callbacks = 0;
    for (Field one : Callbacks.class.getDeclaredFields()) {
      if (one.getType() != int.class) continue;
      assertTrue(Bridge.function(one.getInt(null)) != 0, one.getName());
      ++callbacks;
    }
    assertEquals(0, Bridge.function(callbacks));
    assertEquals(0, Bridge.function(-1));
    long methods = Arrays.stream(Callbacks.class.getDeclaredMethods())
        .map(Method::getName).filter(name -> !name.contains("lambda")).distinct().count();
    assertEquals(callbacks - 1, methods); // the deleter of DLPack is released as all others
  }
}
