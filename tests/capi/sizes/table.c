/* The sizes of all types of the interface, as this way of compiling sees them. */
#include <headrace/headrace.h>
#include <headrace/plugin_backend.h>
#include <headrace/plugin_transport.h>

#ifdef __cplusplus
extern "C"
#endif
    const size_t SIZES[] = {
#define SIZE(type) sizeof(type),
#include "sizes.inc"
        0};
