"""What a line between the hosts of tests/bench/comm/hosts.c carries."""
LINE = 1e9 / 8            # bytes a second
PAYLOAD = 1500 - 40 - 12  # of a frame at the MTU: less IPv4, TCP and its time stamps
FRAME = 1500 + 14         # as the shaper counts it, with Ethernet's header

PAYLOAD_RATE = LINE * PAYLOAD / FRAME  # bytes a second
