// pack.mjs - compresses the files of a built dashboard once, at build time: FILE.gz and FILE.br next to each
// file that gets smaller. The server sends the one that a browser accepts (src/server/common/pages.c).
//   node scripts/pack.mjs FOLDER
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

const folder = process.argv[2];
const TEXT = /\.(js|css|html|svg|json|txt|webmanifest)$/;

for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
  if (!entry.isFile() || !TEXT.test(entry.name)) continue;
  const file = path.join(entry.parentPath ?? entry.path, entry.name);
  const bytes = readFileSync(file);
  const packed = {
    gz: gzipSync(bytes, { level: 9 }),
    br: brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length } }),
  };
  for (const [ending, made] of Object.entries(packed)) if (made.length < bytes.length) writeFileSync(`${file}.${ending}`, made);
}
