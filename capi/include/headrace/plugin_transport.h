/* The table of a plugin that moves messages between processes, such as UCX, a vendor's network, or
 * the library's TCP. EXPERIMENTAL, see plugin.h.
 *
 * Threads: the host makes one call at a time to a transport and its endpoints, from changing
 * threads, and a transport does nothing between calls. No call waits.
 *
 * Order: messages of one endpoint with the same tag arrive in the order in which they were sent. A
 * message that nobody receives does not delay messages with other tags.
 */
#ifndef HEADRACE_PLUGIN_TRANSPORT_H_
#define HEADRACE_PLUGIN_TRANSPORT_H_

#include "headrace/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The settings of a new transport. A transport ignores the settings that its kind does not have.
 * Texts are copied; none is NULL. */
typedef struct hr_plugin_transport_settings {
  size_t struct_size;
  const char* identity;  /* is sent to every peer; may contain any bytes */
  size_t identity_bytes; /* at most 4096 */
  /* The address or name of this host to listen at. "": the address from which the route to
   * `towards` leaves, or loopback if that is "", too. `create` fails with HR_NOT_FOUND if the
   * address is not of this host, and with HR_ALREADY_EXISTS if the port is taken. */
  const char* host;
  const char* towards;
  int32_t port;           /* 0: any free port */
  int32_t listen;         /* 0: the transport only connects, and its address is "" */
  const char* secret;     /* of the cluster, must never be shown; "": none */
  int32_t trusted_fabric; /* 1: data may leave the host without encryption */
} hr_plugin_transport_settings;

/* One send or receive in flight. The host owns it and the memory it names, and keeps both until
 * `done` is called. */
typedef struct hr_plugin_transfer hr_plugin_transfer;
struct hr_plugin_transfer {
  void* data;     /* read by a send, written by a receive; may be NULL for 0 bytes */
  uint64_t bytes; /* of a send: the size of the message; of a receive: the room for it */
  uint64_t tag;   /* a receive takes the first message with its tag */
  uint64_t label; /* a send carries it to the peer, where the receive gets it here */
  /* The transport calls it exactly once, during a call of the host, when it does not use the memory
   * any more. `status` is NULL for success. `done` does not call the transport. */
  void (*done)(hr_plugin_transfer* transfer, hr_status* status);
  void* owner;       /* for the host */
  uint64_t received; /* the size of the message, even if it did not fit */
  void* own;         /* for the transport */
};

typedef struct hr_plugin_transport hr_plugin_transport;
typedef struct hr_plugin_endpoint hr_plugin_endpoint;

typedef struct hr_plugin_transport_table {
  size_t struct_size;
  /* The kinds that `create` knows, followed by NULL. The addresses of a kind begin with its name
   * and a colon, and contain no spaces. */
  const char* const* kinds;

  /* `self` is hr_plugin.self. */
  hr_status* (*create)(void* self, const char* kind, const hr_plugin_transport_settings* settings,
                       hr_plugin_transport** out);
  void (*release)(hr_plugin_transport* transport); /* called after its endpoints are released */
  /* Returns the address to which peers connect; the transport listens from its creation on. The
   * text lives as long as the transport. */
  const char* (*address)(const hr_plugin_transport* transport);
  /* Returns 0 if a peer at `address` certainly cannot be reached, else 1. */
  int32_t (*reaches)(const hr_plugin_transport* transport, const char* address);
  /* Starts to connect. It fails at once only if `address` is malformed or a resource has run out;
   * later failures are the endpoint's status. */
  hr_status* (*connect)(hr_plugin_transport* transport, const char* address,
                        hr_plugin_endpoint** out);
  /* Returns the next connection that a peer has made and that is established, or NULL. */
  hr_plugin_endpoint* (*accept)(hr_plugin_transport* transport);
  /* Returns NULL, or HR_RESOURCE_EXHAUSTED if connections of peers could not be accepted. */
  hr_status* (*status)(const hr_plugin_transport* transport);
  /* Returns why the last process that failed to prove itself was dropped, or "". The text lives
   * until the next call on the transport. */
  const char* (*last_stranger)(const hr_plugin_transport* transport);
  /* Moves the data that can be moved now. Returns 1 if it moved any, else 0. */
  int32_t (*progress)(hr_plugin_transport* transport);
  /* Returns 1 if there is nothing to do now: until the next `progress`, the wait handle (a
   * descriptor for poll()) becomes readable as soon as there is. Returns 0 if there is something to
   * do. */
  int32_t (*arm)(hr_plugin_transport* transport);
  int (*wait_handle)(const hr_plugin_transport* transport);

  /* Drops the connection at once. `done` is not called for transfers in flight. */
  void (*release_endpoint)(hr_plugin_endpoint* endpoint);
  /* Returns 1 if the peer has answered, else 0. */
  int32_t (*established)(const hr_plugin_endpoint* endpoint);
  /* Returns the identity with which the peer's transport was created, and its size in *bytes. It
   * lives as long as the endpoint. */
  const char* (*peer_identity)(const hr_plugin_endpoint* endpoint, size_t* bytes);
  /* Returns NULL while the connection is usable. Otherwise HR_UNAVAILABLE if the peer closed it or
   * vanished, HR_DATA_LOSS if the peer broke the protocol, HR_UNAUTHENTICATED if the peer was
   * refused. A failure is final. */
  hr_status* (*endpoint_status)(const hr_plugin_endpoint* endpoint);
  /* Returns 1 if the connection ended because the peer closed it, else 0. */
  int32_t (*peer_left)(const hr_plugin_endpoint* endpoint);
  /* Start a transfer. Failures are reported through `done`, perhaps before the call returns. */
  void (*send)(hr_plugin_endpoint* endpoint, hr_plugin_transfer* transfer);
  void (*receive)(hr_plugin_endpoint* endpoint, hr_plugin_transfer* transfer);
  /* Ends a transfer with HR_CANCELLED before the call returns. A transfer that is done is left as
   * it is. */
  void (*cancel)(hr_plugin_endpoint* endpoint, hr_plugin_transfer* transfer);
  /* Closes the connection in order: messages that were sent before still arrive, transfers in
   * flight end with HR_CANCELLED, and the peer gets HR_UNAVAILABLE with `reason`. The host goes on
   * calling `progress` until `flushed` returns 1. */
  void (*close)(hr_plugin_endpoint* endpoint, const char* reason);
  int32_t (*flushed)(const hr_plugin_endpoint* endpoint);
  /* Returns a number that grows whenever bytes arrive. */
  uint64_t (*arrivals)(const hr_plugin_endpoint* endpoint);

  /* Returns the devices that a kind has found on this machine, as a list of "TRANSPORT/DEVICE"
   * separated by spaces; "" if there are none. May be called from any thread. The text lives as
   * long as the plugin's instance. */
  const char* (*devices)(void* self, const char* kind);
  /* Returns 1 if a host that may choose should use this kind for peers that it reaches, else 0. May
   * be called from any thread. */
  int32_t (*preferred)(void* self, const char* kind);

  /* Send and receive a small message without a transfer, if that needs no waiting. They return 1 if
   * it is done and the memory is free again, and 0 if nothing has happened. Either may be NULL. */
  int32_t (*send_now)(hr_plugin_endpoint* endpoint, uint64_t tag, uint64_t label, const void* data,
                      uint64_t bytes);
  /* Takes the first message with `tag` if it has arrived completely, carries `label` and fits. */
  int32_t (*receive_now)(hr_plugin_endpoint* endpoint, uint64_t tag, uint64_t label, void* data,
                         uint64_t room);
  /* Returns 1 if the message of a receive is being written to its memory, so that `cancel` would
   * lose the message. If a receive is cancelled earlier, its message goes to the next receive. */
  int32_t (*is_coming)(const hr_plugin_endpoint* endpoint, const hr_plugin_transfer* transfer);
  /* Writes tag and label of message number `index` of those that have arrived, or are offered by
   * the peer, and for which there is no receive. Returns 1, or 0 if there are no more. */
  int32_t (*unclaimed)(const hr_plugin_endpoint* endpoint, uint64_t index, uint64_t* tag,
                       uint64_t* label);
} hr_plugin_transport_table;

#ifdef __cplusplus
}
#endif
#endif /* HEADRACE_PLUGIN_TRANSPORT_H_ */
