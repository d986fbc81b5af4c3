# Run by the build: writes OUT, an assembler file with the files below FOLDER and their table
# (pages.h); an empty table without FOLDER. FILE.br and FILE.gz are FILE, compressed.
set(table "")
set(bytes "")
set(number 0)
set(files "")
if(FOLDER)
  file(GLOB_RECURSE files RELATIVE ${FOLDER} ${FOLDER}/*)
endif()
foreach(file ${files})
  if(file MATCHES "\\.(br|gz)$")
    continue()
  endif()
  set(packed "")
  foreach(ending br gz)
    if(EXISTS ${FOLDER}/${file}.${ending})
      string(APPEND packed ", ${ending}_${number}, ${ending}_end_${number}")
      string(APPEND bytes "    .balign 16\n${ending}_${number}: .incbin \"${FOLDER}/${file}.${ending}\"\n${ending}_end_${number}: .byte 0\n")
    else()
      string(APPEND packed ", 0, 0")
    endif()
  endforeach()
  string(APPEND table "    .quad path_${number}, data_${number}, end_${number}${packed}\n")
  string(APPEND bytes "path_${number}: .asciz \"/${file}\"\n    .balign 16\ndata_${number}: .incbin \"${FOLDER}/${file}\"\nend_${number}: .byte 0\n")
  math(EXPR number "${number} + 1")
endforeach()
file(WRITE ${OUT} "/* Made by src/server/common/pages_write.cmake. */
    .section .note.GNU-stack,\"\",%progbits
    .section .data.rel.ro.pages_files,\"aw\",%progbits
    .balign 8
    .globl pages_files
    .hidden pages_files
    .type pages_files, %object
pages_files:
${table}    .quad 0, 0, 0, 0, 0, 0, 0
    .size pages_files, . - pages_files
    .section .rodata
${bytes}")
