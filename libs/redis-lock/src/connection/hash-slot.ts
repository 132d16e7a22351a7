const SLOTS = 16_384;

/** The Redis Cluster slot of a key: CRC16/XMODEM of its hash tag, or of all of it (cluster-spec). */
export function hashSlot(key: string): number {
  let crc = 0;
  for (const byte of Buffer.from(hashTag(key))) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit++) crc = crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1;
  }
  return (crc & 0xffff) % SLOTS;
}

/** The part of a key that decides its slot. */
export function hashTag(key: string): string {
  const open = key.indexOf('{');
  const close = open === -1 ? -1 : key.indexOf('}', open + 1);
  return close > open + 1 ? key.slice(open + 1, close) : key;
}
