import { inflateSync } from 'node:zlib';

const WOFF_HEADER = 44;
const WOFF_ENTRY = 20;
const HEADER = 12;
const ENTRY = 16;

/**
 * A WOFF font as a TrueType or OpenType file, which is all that fontconfig takes in Chromium.
 * @param {Buffer} woff version 1
 */
export function sfntOf(woff) {
  const count = woff.readUInt16BE(12);
  const directory = Buffer.alloc(HEADER + ENTRY * count);
  writeHeader(directory, woff.readUInt32BE(4), count);
  /** @type {Buffer[]} */
  const parts = [directory];
  let offset = directory.length;
  for (let index = 0; index < count; index += 1) {
    const { tag, checksum, data } = tableOf(woff, WOFF_HEADER + WOFF_ENTRY * index);
    const entry = HEADER + ENTRY * index;
    directory.writeUInt32BE(tag, entry);
    directory.writeUInt32BE(checksum, entry + 4);
    directory.writeUInt32BE(offset, entry + 8);
    directory.writeUInt32BE(data.length, entry + 12);
    const padding = Buffer.alloc(-data.length & 3);
    parts.push(data, padding);
    offset += data.length + padding.length;
  }
  return Buffer.concat(parts);
}

/**
 * @param {Buffer} directory
 * @param {number} flavor
 * @param {number} count
 */
function writeHeader(directory, flavor, count) {
  const power = Math.floor(Math.log2(count));
  directory.writeUInt32BE(flavor, 0);
  directory.writeUInt16BE(count, 4);
  directory.writeUInt16BE(ENTRY * 2 ** power, 6);
  directory.writeUInt16BE(power, 8);
  directory.writeUInt16BE(ENTRY * (count - 2 ** power), 10);
}

/**
 * @param {Buffer} woff
 * @param {number} entry
 */
function tableOf(woff, entry) {
  const [tag = 0, offset = 0, stored = 0, length = 0, checksum = 0] = [0, 4, 8, 12, 16].map(
    (field) => woff.readUInt32BE(entry + field),
  );
  const bytes = woff.subarray(offset, offset + stored);
  return { tag, checksum, data: stored < length ? inflateSync(bytes) : bytes };
}
