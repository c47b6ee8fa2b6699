"""Writes .npy files without NumPy, wrong ones on purpose."""
import ast
import struct


def header(text, version=1):
    text = text.encode() + b" " * ((64 - (len(text) + 11) % 64) % 64) + b"\n"
    size = struct.pack("<H" if version == 1 else "<I", len(text))
    return b"\x93NUMPY" + bytes([version, 0]) + size + text


def array(descr, shape, data, fortran=False, version=1):
    return header(f"{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}",
                  version) + data


def read(path):
    """(descr, shape, bytes) of a file of version 1."""
    data = path.read_bytes()
    assert data[:8] == b"\x93NUMPY\x01\x00", data[:8]
    size = struct.unpack("<H", data[8:10])[0]
    assert (10 + size) % 64 == 0
    about = ast.literal_eval(data[10:10 + size].decode())
    assert about["fortran_order"] is False
    return about["descr"], about["shape"], data[10 + size:]
