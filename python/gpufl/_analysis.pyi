# What libgpufl-analysis.so gives to the package. tests/python/package/test_stubs.py holds this against the module.
from os import PathLike
from typing import Any, final

def open(path: str | PathLike[str], name: str, /) -> Session: ...
def tables() -> dict[str, list[str]]: ...
def report(
    path: str | PathLike[str],
    json: bool = False,
    top: int = 10,
    full: bool = False,
    width: int = 100,
    sections: str | None = None,
    session: str | None = None,
) -> str: ...
@final
class Session:
    def info(self) -> dict[str, Any]: ...
    def column(self, table: str, name: str, /) -> Column: ...
    def table(self, name: str, /) -> Table: ...
@final
class Column:
    __array_interface__: dict[str, Any]
    texts: list[str] | None
    nulls: int
    unit: str
    kind: str
    def __len__(self) -> int: ...
@final
class Table:
    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any: ...
