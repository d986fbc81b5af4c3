'use strict';
// Loaded before s3rver. S3 has an object whole or not at all, and the last whole one that was sent. s3rver writes into the
// object's own file: a body that breaks off leaves half an object there, also over a whole one that came after it, and the
// answer to a whole one may come before its last bytes are written. Here an object is written next to its place, and
// renamed.
// s3rver's tokens for the next page of a list are enciphered with DES, which OpenSSL 3 has no more: a list of over 1000
// objects was answered with 500 for good. Triple DES with three times the same key is DES.
const crypto = require('crypto');
const fs = require('fs');
const path = require('path');
const FilesystemStore = require('s3rver/lib/stores/filesystem');

for (const name of ['createCipheriv', 'createDecipheriv']) {
  const make = crypto[name];
  crypto[name] = (cipher, key, ...more) => cipher === 'des'
    ? make('des-ede3-cbc', Buffer.concat([key, key, key]), ...more) : make(cipher, key, ...more);
}

let count = 0;

async function bytesOf(object) {
  if (Buffer.isBuffer(object.content))
    return object.content;
  const chunks = [];
  for await (const chunk of object.content)  // fails where the body breaks off
    chunks.push(chunk);
  return Buffer.concat(chunks);
}

FilesystemStore.prototype.putObject = async function putObject(object) {
  const place = this.getResourcePath(object.bucket, object.key, 'object');
  const data = await bytesOf(object);
  if (data.length !== Number(object.metadata['content-length']))
    throw new Error(`${object.key}: ${data.length} bytes came of ${object.metadata['content-length']}`);
  const md5 = crypto.createHash('md5').update(data).digest('hex');
  const written = path.join(this.rootDirectory, `.${++count}.new`);
  await fs.promises.mkdir(path.dirname(place), {recursive: true});
  await fs.promises.writeFile(written, data);
  await this.putMetadata(object.bucket, object.key, object.metadata, md5);
  await fs.promises.rename(written, place);
  return {size: data.length, md5};
};
