"""What has been compiled, kept for the next process: each entry of the cache is whole or absent."""

from pathlib import Path

from jax._src.lru_cache import LRUCache

from toydepth.files import write_whole

_put = LRUCache.put


def write_entries_whole() -> None:
    """Lets JAX rename complete entries into its cache, where it would write them in place.

    A process killed in mid-write leaves half an entry there, which every later process fails to
    read, with a warning, and none replaces; jobs that start together read each other's halves.
    """

    def put(self: LRUCache, key: str, value: bytes) -> None:
        entry = Path(str(self.path)) / f"{key}-cache"
        if self.eviction_enabled or "://" in str(self.path):
            _put(self, key, value)
        elif not entry.exists():
            write_whole(entry, value)

    LRUCache.put = put
