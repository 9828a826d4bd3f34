"""Whether the hub can be reached, known at once: its client would retry for half a minute."""

import socket
from urllib.parse import urlsplit
from urllib.request import getproxies

INSTALL = "pip install 'toydepth[llm]'"  # the extra that has what models need


def unreachable() -> str | None:
    """Why the hub cannot be reached; None if it may be."""
    from huggingface_hub import constants, is_offline_mode

    if is_offline_mode():
        return "HF_HUB_OFFLINE forbids the network"
    if getproxies():
        return None  # the names are then the proxy's to find
    host = urlsplit(constants.ENDPOINT).hostname
    try:
        socket.getaddrinfo(host, 443)
    except OSError:
        return f"there is no network ({host} is not found)"
    return None
