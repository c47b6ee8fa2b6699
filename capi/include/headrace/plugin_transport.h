/* The table of a plugin that moves messages between processes: UCX, a vendor's network, our own
 * TCP.
 *
 * A transport and its endpoints are single-threaded: the host serialises every call, from changing
 * threads, and nothing happens between calls. No call waits. Messages of one endpoint with the same
 * tag arrive in the order in which they were sent; different tags do not hold each other up.
 *
 * EXPERIMENTAL, as all of headrace/plugin.h.
 */
#ifndef HEADRACE_PLUGIN_TRANSPORT_H_
#define HEADRACE_PLUGIN_TRANSPORT_H_

#include "headrace/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How a transport is made; what means nothing to its kind is ignored. Texts are copied; none is
 * NULL. */
typedef struct hr_transport_settings {
  size_t struct_size;
  const char* identity; /* told to every peer, identity_bytes long, at most 4096 */
  size_t identity_bytes;
  /* The address or name of this host to listen at; "": the one from which the route to `towards`
   * leaves, or loopback where that is "", too. Port 0: a free one. HR_NOT_FOUND where the address
   * is not of this host, HR_ALREADY_EXISTS where the port is taken. */
  const char* host;
  const char* towards;
  int32_t port;
  int32_t listen;         /* 0: it only connects, and its address is "" */
  const char* secret;     /* of the cluster, never to be shown; "": none */
  int32_t trusted_fabric; /* 1: what leaves the host may go without encryption */
} hr_transport_settings;

/* One send or receive in flight. The host owns it and the memory it names, and keeps both until
 * `done` was called. */
typedef struct hr_transfer hr_transfer;
struct hr_transfer {
  void* data;     /* read by a send, written by a receive; may be NULL for 0 bytes */
  uint64_t bytes; /* of the message sent; the room for the message received */
  uint64_t tag;   /* a receive takes the first message with its tag */
  uint64_t label; /* a send's travels along; a receive gets the sender's here */
  /* Called exactly once, from within some call on the transport, when the memory is the host's
   * again; status NULL: it went well. It does not call back into the transport. */
  void (*done)(hr_transfer* transfer, hr_status* status);
  void* owner;       /* the host's */
  uint64_t received; /* bytes of the message, also where it did not fit */
  void* own;         /* the transport's */
};

typedef struct hr_transport hr_transport;
typedef struct hr_endpoint hr_endpoint;

typedef struct hr_transport_table {
  size_t struct_size;
  /* The kinds that create() knows, the last NULL. A kind's addresses begin with its name and a
   * colon, and have no spaces. */
  const char* const* kinds;

  /* `self`: hr_plugin.self. */
  hr_status* (*create)(void* self, const char* kind, const hr_transport_settings* settings,
                       hr_transport** out);
  void (*release)(hr_transport* transport); /* after its endpoints */
  /* Where peers connect to: listening from the start. Lives as long as the transport. */
  const char* (*address)(const hr_transport* transport);
  /* 0 where a peer at `address` certainly cannot be reached. */
  int32_t (*reaches)(const hr_transport* transport, const char* address);
  /* Starts to connect. Fails at once only where `address` makes no sense or something has run out;
   * what happens later is the endpoint's status. */
  hr_status* (*connect)(hr_transport* transport, const char* address, hr_endpoint** out);
  /* The next established connection that a peer made, or NULL. */
  hr_endpoint* (*accept)(hr_transport* transport);
  /* NULL, or why connections that peers made could not be taken: HR_RESOURCE_EXHAUSTED. */
  hr_status* (*status)(const hr_transport* transport);
  /* Why the last stranger was dropped, or "". Until the next call on the transport. */
  const char* (*last_stranger)(const hr_transport* transport);
  /* Moves what can be moved now. 1 if anything was. */
  int32_t (*progress)(hr_transport* transport);
  /* 1: from now until the next progress() the wait handle, a descriptor for poll(), becomes
   * readable as soon as there is something to do. 0: there is already. */
  int32_t (*arm)(hr_transport* transport);
  int (*wait_handle)(const hr_transport* transport);

  /* Drops the connection at once; transfers in flight are forgotten without `done`. */
  void (*release_endpoint)(hr_endpoint* endpoint);
  /* 1 once the peer has answered. */
  int32_t (*established)(const hr_endpoint* endpoint);
  /* What the peer's transport was created with, *bytes long. Lives as long as the endpoint. */
  const char* (*peer_identity)(const hr_endpoint* endpoint, size_t* bytes);
  /* NULL while the connection works, else why it does not: HR_UNAVAILABLE where the peer closed it
   * or vanished, HR_DATA_LOSS where it broke the protocol, HR_UNAUTHENTICATED where it was refused.
   * Final. */
  hr_status* (*endpoint_status)(const hr_endpoint* endpoint);
  /* 1 where the connection ended because the peer said goodbye. */
  int32_t (*peer_left)(const hr_endpoint* endpoint);
  /* Every failure comes through `done`, perhaps before the call returns. */
  void (*send)(hr_endpoint* endpoint, hr_transfer* transfer);
  void (*receive)(hr_endpoint* endpoint, hr_transfer* transfer);
  /* Ends a transfer that is not done with HR_CANCELLED, before the call returns. */
  void (*cancel)(hr_endpoint* endpoint, hr_transfer* transfer);
  /* Says goodbye: messages sent before still arrive, transfers in flight end with HR_CANCELLED, the
   * peer sees HR_UNAVAILABLE with `reason`. Is progressed until flushed() is 1. */
  void (*close)(hr_endpoint* endpoint, const char* reason);
  int32_t (*flushed)(const hr_endpoint* endpoint);
  /* Grows whenever bytes arrive. */
  uint64_t (*arrivals)(const hr_endpoint* endpoint);

  /* What a kind found on this machine, "TRANSPORT/DEVICE" and so on with spaces between; "" where
   * there is nothing to tell. Any thread; lives as long as the plugin's instance. */
  const char* (*devices)(void* self, const char* kind);
  /* 1: a host that is free to choose takes this kind where it reaches a peer. Any thread. */
  int32_t (*preferred)(void* self, const char* kind);

  /* The short way of small messages, for what needs no waiting. 1: it is done, and the memory is
   * the host's again; 0: nothing has happened. Either may be NULL. */
  int32_t (*send_now)(hr_endpoint* endpoint, uint64_t tag, uint64_t label, const void* data,
                      uint64_t bytes);
  /* Takes the first message with `tag` where it has come whole, carries `label` and fits. */
  int32_t (*receive_now)(hr_endpoint* endpoint, uint64_t tag, uint64_t label, void* data,
                         uint64_t room);
  /* 1: the message of a receive is on its way into its memory, so that cancel() would lose it. A
   * receive that is cancelled before leaves its message to the next one. */
  int32_t (*is_coming)(const hr_endpoint* endpoint, const hr_transfer* transfer);
  /* Tag and label of the message number `index` that has come, or is on offer, and that no receive
   * was posted for. 0 where there are no more. */
  int32_t (*unclaimed)(const hr_endpoint* endpoint, uint64_t index, uint64_t* tag, uint64_t* label);
} hr_transport_table;

#ifdef __cplusplus
}
#endif
#endif /* HEADRACE_PLUGIN_TRANSPORT_H_ */
