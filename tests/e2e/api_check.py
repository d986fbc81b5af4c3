"""What checks answers of the API and files that it made: docs/openapi.json as a schema, and DuckDB's own library."""
import ctypes
import os


class Schema:
    """As much of JSON Schema as docs/openapi.json uses."""

    def __init__(self, document):
        self.document = document

    def check(self, schema, value, where):
        if "$ref" in schema:
            schema = self.document["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]]
        types = schema.get("type")
        if types:
            types = types if isinstance(types, list) else [types]
            known = {"string": str, "integer": int, "number": (int, float), "boolean": bool, "array": list,
                     "object": dict, "null": type(None)}
            right = any(isinstance(value, known[t]) and (t == "boolean" or not isinstance(value, bool) or value is None)
                        for t in types)
            assert right, f"{where}: {value!r} is not {types}"
        if isinstance(value, dict):
            properties = schema.get("properties", {})
            for key in schema.get("required", []):
                assert key in value, f"{where}: {key} is missing"
            for key, member in value.items():
                assert not properties or key in properties, f"{where}: {key} is in no description"
                if key in properties:
                    self.check(properties[key], member, f"{where}.{key}")
        if isinstance(value, list) and "items" in schema:
            for i, member in enumerate(value):
                self.check(schema["items"], member, f"{where}[{i}]")


class Duck:
    """The library that wrote a Parquet file reads it."""

    def __init__(self, program):
        path = os.path.join(os.path.dirname(program), "..", "lib", "libduckdb.so")
        self.library = ctypes.CDLL(path if os.path.exists(path) else "libduckdb.so")
        self.library.duckdb_value_varchar.restype = ctypes.c_void_p
        self.database, self.connection = ctypes.c_void_p(), ctypes.c_void_p()
        assert self.library.duckdb_open(None, ctypes.byref(self.database)) == 0
        assert self.library.duckdb_connect(self.database, ctypes.byref(self.connection)) == 0

    def row(self, sql, columns):
        """Cells of the first row, as texts."""
        result = ctypes.create_string_buffer(64)  # duckdb_result has 48 bytes
        if self.library.duckdb_query(self.connection, sql.encode(), result) != 0:
            raise AssertionError(f"DuckDB refuses {sql}")
        cells = [self.library.duckdb_value_varchar(result, ctypes.c_uint64(i), ctypes.c_uint64(0)) for i in range(columns)]
        values = [ctypes.string_at(cell).decode() if cell else None for cell in cells]
        self.library.duckdb_destroy_result(result)
        return values
