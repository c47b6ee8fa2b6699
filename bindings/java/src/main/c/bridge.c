/* What Java cannot do by itself: memory at an address, opening the library, threads of C in Java.
 */
#include "bridge.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(void*) == 8, "addresses are numbers of type long");

static JavaVM* machine;
static pthread_key_t attached; /* set in threads that bridge_enter has attached */
jclass bridge_callbacks;

/* ---- Threads ---- */

static void detach(void* unused) {
  (void)unused;
  (*machine)->DetachCurrentThread(machine);
}

static JNIEnv* attach(void) {
  JavaVMAttachArgs arguments = {JNI_VERSION_10, (char*)"headrace", NULL};
  void* env = NULL;
  if ((*machine)->AttachCurrentThreadAsDaemon(machine, &env, &arguments) != JNI_OK) return NULL;
  pthread_setspecific(attached, env);
  return env;
}

JNIEnv* bridge_enter(void) {
  void* env = NULL;
  if ((*machine)->GetEnv(machine, &env, JNI_VERSION_10) == JNI_OK) return env;
  return attach();
}

int bridge_leave(JNIEnv* env) {
  if (!(*env)->ExceptionCheck(env)) return 1;
  (*env)->ExceptionClear(env);
  return 0;
}

hr_status* bridge_result(JNIEnv* env, jlong status) {
  if (bridge_leave(env)) return (hr_status*)(intptr_t)status;
  return raw_failure(HR_RESOURCE_EXHAUSTED,
                     "a function of the Java program could not be called: the virtual machine has "
                     "no memory or no stack left");
}

hr_status* bridge_gone(void) {
  return raw_failure(HR_UNAVAILABLE, "the Java virtual machine has ended");
}

/* ---- Memory ---- */

static void* pointer(jlong address) { return (void*)(intptr_t)address; }

static jlong JNICALL allocate(JNIEnv* env, jclass self, jlong bytes) {
  (void)env, (void)self;
  return (jlong)(intptr_t)calloc(1, (size_t)bytes);
}

static void JNICALL deallocate(JNIEnv* env, jclass self, jlong address) {
  (void)env, (void)self;
  free(pointer(address));
}

static jobject JNICALL view(JNIEnv* env, jclass self, jlong address, jlong bytes) {
  (void)self;
  return (*env)->NewDirectByteBuffer(env, pointer(address), bytes);
}

static jlong JNICALL address_of(JNIEnv* env, jclass self, jobject buffer) {
  (void)self;
  return (jlong)(intptr_t)(*env)->GetDirectBufferAddress(env, buffer);
}

static jbyteArray JNICALL text(JNIEnv* env, jclass self, jlong address) {
  (void)self;
  const char* from = pointer(address);
  const jsize size = (jsize)strlen(from);
  jbyteArray out = (*env)->NewByteArray(env, size);
  if (out != NULL) (*env)->SetByteArrayRegion(env, out, 0, size, (const jbyte*)from);
  return out;
}

/* Copy between an array of any primitive type and memory. */
static void JNICALL read_array(JNIEnv* env, jclass self, jlong address, jarray array, jlong offset,
                               jlong bytes) {
  (void)self;
  char* to = (*env)->GetPrimitiveArrayCritical(env, array, NULL);
  if (to == NULL) return;
  memcpy(to + offset, pointer(address), (size_t)bytes);
  (*env)->ReleasePrimitiveArrayCritical(env, array, to, 0);
}

static void JNICALL write_array(JNIEnv* env, jclass self, jlong address, jarray array, jlong offset,
                                jlong bytes) {
  (void)self;
  char* from = (*env)->GetPrimitiveArrayCritical(env, array, NULL);
  if (from == NULL) return;
  memcpy(pointer(address), from + offset, (size_t)bytes);
  (*env)->ReleasePrimitiveArrayCritical(env, array, from, JNI_ABORT);
}

/* ---- The library ---- */

static jbyteArray bytes_of(JNIEnv* env, const char* message) {
  return text(env, NULL, (jlong)(intptr_t)message);
}

/* Opens the library. Returns NULL, or why it cannot be opened. `path` is NUL-terminated. */
static jbyteArray JNICALL open_library(JNIEnv* env, jclass self, jlong path) {
  (void)self;
  void* library = dlopen(pointer(path), RTLD_NOW | RTLD_LOCAL);
  return library == NULL ? bytes_of(env, dlerror()) : NULL;
}

/* Returns the HR_API_VERSION of the library, which is open; -1 if it has none. */
static jint JNICALL library_version(JNIEnv* env, jclass self, jlong path) {
  (void)env, (void)self;
  void* library = dlopen(pointer(path), RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) return -1;
  uint32_t (*version)(void) = (uint32_t(*)(void))(intptr_t)dlsym(library, "hr_api_version");
  return version == NULL ? -1 : (jint)version();
}

/* Finds all functions of the library, which is open. Returns the name of one that it lacks. */
static jbyteArray JNICALL find_functions(JNIEnv* env, jclass self, jlong path) {
  (void)self;
  void* library = dlopen(pointer(path), RTLD_NOW | RTLD_LOCAL);
  const char* missing = library == NULL ? "hr_api_version" : raw_find_functions(library);
  return missing == NULL ? NULL : bytes_of(env, missing);
}

static jlong JNICALL function(JNIEnv* env, jclass self, jint callback) {
  (void)env, (void)self;
  return raw_trampoline(callback);
}

static const JNINativeMethod natives[] = {
    {(char*)"allocate", (char*)"(J)J", (void*)allocate},
    {(char*)"free", (char*)"(J)V", (void*)deallocate},
    {(char*)"view", (char*)"(JJ)Ljava/nio/ByteBuffer;", (void*)view},
    {(char*)"address", (char*)"(Ljava/nio/Buffer;)J", (void*)address_of},
    {(char*)"text", (char*)"(J)[B", (void*)text},
    {(char*)"read", (char*)"(JLjava/lang/Object;JJ)V", (void*)read_array},
    {(char*)"write", (char*)"(JLjava/lang/Object;JJ)V", (void*)write_array},
    {(char*)"open", (char*)"(J)[B", (void*)open_library},
    {(char*)"version", (char*)"(J)I", (void*)library_version},
    {(char*)"missing", (char*)"(J)[B", (void*)find_functions},
    {(char*)"function", (char*)"(I)J", (void*)function},
};

static int add_natives(JNIEnv* env, const char* name, const JNINativeMethod* rows, jint count) {
  jclass owner = (*env)->FindClass(env, name);
  return owner != NULL && (*env)->RegisterNatives(env, owner, rows, count) == JNI_OK;
}

static int find_callbacks(JNIEnv* env) {
  jclass local = (*env)->FindClass(env, "dev/headrace/Callbacks");
  if (local == NULL) return 0;
  bridge_callbacks = (*env)->NewGlobalRef(env, local);
  return bridge_callbacks != NULL && raw_find_methods(env);
}

JNIEXPORT jint JNICALL JNI_OnLoad(JavaVM* vm, void* reserved) {
  (void)reserved;
  void* env = NULL;
  machine = vm;
  if ((*vm)->GetEnv(vm, &env, JNI_VERSION_10) != JNI_OK) return JNI_ERR;
  if (pthread_key_create(&attached, detach) != 0) return JNI_ERR;
  const jint count = sizeof natives / sizeof *natives;
  if (!add_natives(env, "dev/headrace/Bridge", natives, count)) return JNI_ERR;
  if (!add_natives(env, "dev/headrace/Raw", raw_natives, raw_native_count)) return JNI_ERR;
  return find_callbacks(env) ? JNI_VERSION_10 : JNI_ERR;
}
