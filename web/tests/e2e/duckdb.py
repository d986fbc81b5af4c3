"""Runs one statement with DuckDB's library and prints its rows, with tabs between cells.

Usage: duckdb.py LIBRARY STATEMENT"""
import ctypes
import sys

library = ctypes.CDLL(sys.argv[1])
library.duckdb_value_varchar.restype = ctypes.c_void_p
library.duckdb_result_error.restype = ctypes.c_char_p
library.duckdb_row_count.restype = library.duckdb_column_count.restype = ctypes.c_uint64
library.duckdb_value_varchar.argtypes = [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint64]


class Result(ctypes.Structure):
    """duckdb_result, whose content the library owns."""
    _fields_ = [("words", ctypes.c_uint64 * 3), ("pointers", ctypes.c_void_p * 3)]


database, connection, result = ctypes.c_void_p(), ctypes.c_void_p(), Result()
if library.duckdb_open(None, ctypes.byref(database)) or library.duckdb_connect(database, ctypes.byref(connection)):
    sys.exit("DuckDB does not open")
if library.duckdb_query(connection, sys.argv[2].encode(), ctypes.byref(result)):
    sys.exit(library.duckdb_result_error(ctypes.byref(result)).decode())
for row in range(library.duckdb_row_count(ctypes.byref(result))):
    cells = []
    for column in range(library.duckdb_column_count(ctypes.byref(result))):
        cell = library.duckdb_value_varchar(ctypes.byref(result), column, row)
        cells.append(ctypes.string_at(cell).decode() if cell else "NULL")
    print("\t".join(cells))
