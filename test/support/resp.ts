const LINE_END = Buffer.from('\r\n');

/**
 * Cuts a stream of Redis protocol (RESP2 and RESP3, both directions) into whole frames: a command,
 * a reply, or a push message each.
 */
export class FrameSplitter {
  #rest: Buffer = Buffer.alloc(0);

  /** Bytes of a frame that is not complete yet. */
  get rest(): Buffer {
    return this.#rest;
  }

  push(chunk: Buffer): Buffer[] {
    const bytes = this.#rest.length > 0 ? Buffer.concat([this.#rest, chunk]) : chunk;
    const frames: Buffer[] = [];
    let start = 0;
    for (;;) {
      const end = frameEnd(bytes, start);
      if (end === null) break;
      frames.push(bytes.subarray(start, end));
      start = end;
    }
    this.#rest = bytes.subarray(start);
    return frames;
  }
}

/** Where the frame that begins at `start` ends, or null if it is not complete. */
function frameEnd(bytes: Buffer, start: number): number | null {
  let position = start;
  for (let missing = 1; missing > 0; missing -= 1) {
    const line = bytes.indexOf(LINE_END, position);
    if (line === -1) return null;
    const type = String.fromCharCode(bytes[position] ?? 0);
    const size = Number(bytes.toString('latin1', position + 1, line));
    position = line + LINE_END.length;
    if ('$!='.includes(type) && size >= 0) position += size + LINE_END.length;
    else if ('*~>'.includes(type) && size > 0) missing += size;
    else if (type === '%') missing += 2 * size;
    // The attributes of a reply precede it and belong to it.
    else if (type === '|') missing += 2 * size + 1;
    if (position > bytes.length) return null;
  }
  return position;
}
