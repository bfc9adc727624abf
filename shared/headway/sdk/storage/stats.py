"""What a store says of a file, with the names that `os.stat` has for it."""

from datetime import datetime
from stat import S_IFDIR, S_IFLNK, S_IFREG
from typing import Any


class ObjectStat(dict[str, Any]):
    """What a store says of a file or folder, by the store's own names; 0 for what it leaves out.

    `protocol` and `conn_id` are those of the path.
    """

    st_dev = 0

    @property
    def st_size(self) -> int:
        """Bytes of the file."""
        return int(self.get("size") or 0)

    @property
    def st_mtime(self) -> float:
        """When it was changed the last time, in seconds since 1970."""
        found = self.get("mtime", self.get("LastModified", 0))
        return found.timestamp() if isinstance(found, datetime) else found

    @property
    def st_mode(self) -> int:
        """Its kind, and who may do what with it if the store knows that."""
        if "mode" in self:
            return int(self["mode"])
        if self.get("isLink"):
            return S_IFLNK
        return {"file": S_IFREG, "directory": S_IFDIR}.get(self.get("type", ""), 0)

    @property
    def st_uid(self) -> int:
        """The number of its owner."""
        return int(self.get("uid", 0))

    @property
    def st_gid(self) -> int:
        """The number of its group."""
        return int(self.get("gid", 0))

    @property
    def st_ino(self) -> int:
        """Its number on its device."""
        return int(self.get("ino", 0))

    @property
    def st_nlink(self) -> int:
        """How many names it has."""
        return int(self.get("nlink", 0))
