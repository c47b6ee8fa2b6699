/* What raw.c, which is generated, and bridge.c share. */
#ifndef HEADRACE_JAVA_BRIDGE_H_
#define HEADRACE_JAVA_BRIDGE_H_

#include <headrace/base.h>
#include <jni.h>

/* The class dev.headrace.Callbacks. */
extern jclass bridge_callbacks;

/* Returns the thread's environment; a thread that Java does not know becomes one of its daemon
 * threads until it ends. NULL: the virtual machine is ending. */
JNIEnv* bridge_enter(void);
/* Ends a call of Java. Returns 0 and drops the exception if there is one: that is a failure of the
 * virtual machine itself (no stack, no memory), because Callbacks catches all others. */
int bridge_leave(JNIEnv* env);
/* Ends a call of Java that gives the address of a hr_status. */
hr_status* bridge_result(JNIEnv* env, jlong status);
/* Makes the failure of a callback that comes after the virtual machine has ended. */
hr_status* bridge_gone(void);

/* Of raw.c. Finds the functions of the library; returns the name of one that is missing, or NULL.
 */
const char* raw_find_functions(void* library);
hr_status* raw_failure(hr_code code, const char* message);
/* Finds the methods of bridge_callbacks. Returns 0, with a Java exception, if one is missing. */
int raw_find_methods(JNIEnv* env);
jlong raw_trampoline(jint callback);
extern const JNINativeMethod raw_natives[];
extern const jint raw_native_count;

#endif /* HEADRACE_JAVA_BRIDGE_H_ */
