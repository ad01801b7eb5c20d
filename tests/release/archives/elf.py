"""As much of an ELF file as the checks of the static builds look at: program headers and the dynamic section. After the
System V ABI, chapters 4 and 5, and the GNU extensions to it."""

import struct

ET_DYN = 3
PT_LOAD, PT_DYNAMIC, PT_INTERP = 1, 2, 3
PT_GNU_STACK, PT_GNU_RELRO = 0x6474e551, 0x6474e552
PF_X, PF_W, PF_R = 1, 2, 4
DT_NEEDED, DT_TEXTREL, DT_FLAGS, DT_FLAGS_1 = 1, 22, 30, 0x6ffffffb
DF_TEXTREL, DF_1_NOW, DF_1_PIE = 4, 1, 0x08000000

MACHINES = {"x86_64": 62, "aarch64": 183, "armv7": 40, "armv6": 40, "armv5": 40, "riscv64": 243, "mips": 8, "mipsel": 8}


class Segment:
    def __init__(self, kind, flags, offset, address, file_bytes, memory_bytes, align):
        self.kind, self.flags, self.offset, self.address = kind, flags, offset, address
        self.file_bytes, self.memory_bytes, self.align = file_bytes, memory_bytes, align

    @property
    def end(self):
        return self.address + self.memory_bytes


class Elf:
    def __init__(self, path):
        with open(path, "rb") as file:
            self.bytes = file.read()
        assert self.bytes[:4] == b"\x7fELF", path
        self.wide, self.order = self.bytes[4] == 2, ">" if self.bytes[5] == 2 else "<"
        self.type, self.machine = self._unpack("HH", 16)
        self.segments = list(self._segments())
        self.dynamic = dict(self._dynamic())

    def _unpack(self, layout, at):
        return struct.unpack_from(self.order + layout, self.bytes, at)

    def _segments(self):
        if self.wide:
            start, = self._unpack("Q", 32)
            size, count, _, self.sections = self._unpack("HHHH", 54)
        else:
            start, = self._unpack("I", 28)
            size, count, _, self.sections = self._unpack("HHHH", 42)
        for at in range(start, start + size * count, size):
            if self.wide:
                kind, flags, offset, address, _, *sizes = self._unpack("IIQQQQQQ", at)
            else:
                kind, offset, address, _, in_file, in_memory, flags, align = self._unpack("8I", at)
                sizes = in_file, in_memory, align
            yield Segment(kind, flags, offset, address, *sizes)

    def _dynamic(self):
        layout = self.order + ("QQ" if self.wide else "II")
        for segment in self.of(PT_DYNAMIC):
            part = self.bytes[segment.offset:segment.offset + segment.file_bytes]
            for tag, value in struct.iter_unpack(layout, part):
                if tag == 0:
                    return
                yield tag, value

    def of(self, kind):
        return [segment for segment in self.segments if segment.kind == kind]

    def section_names(self):
        """The names in the section table, which stripping keeps."""
        layout, start, size = ("IIQQQQ", 40, 64) if self.wide else ("IIIIII", 32, 40)
        table, = self._unpack("Q" if self.wide else "I", start)
        index, = self._unpack("H", 62 if self.wide else 50)
        headers = [self._unpack(layout, table + number * size) for number in range(self.sections)]
        offset, length = headers[index][4], headers[index][5]
        names = self.bytes[offset:offset + length]
        return [names[header[0]:names.index(b"\0", header[0])].decode() for header in headers]
