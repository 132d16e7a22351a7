/** Numbers of one interval in a packed history: lock, side, party, start, end. */
const WIDTH = 5;
const WRITING = 1;

/** A caller was inside from start to end, by the clock that all processes share. */
export interface Visit {
  lock: number;
  side: 'read' | 'write';
  /** A writer, and the reads inside its write, are one party. */
  party: number;
  startUs: number;
  endUs: number;
}

export type PackedVisits = Float64Array;

export function pack(visits: readonly Visit[]): PackedVisits {
  return Float64Array.from(
    visits.flatMap(({ lock, side, party, startUs, endUs }) => [
      ...[lock, side === 'write' ? WRITING : 0, party, startUs, endUs],
    ]),
  );
}

export function unpack(packed: PackedVisits): Visit[] {
  return Array.from({ length: packed.length / WIDTH }, (_, i) => {
    const [lock = 0, side = 0, party = 0, startUs = 0, endUs = 0] = packed.subarray(
      i * WIDTH,
      (i + 1) * WIDTH,
    );
    return { lock, side: side === WRITING ? 'write' : 'read', party, startUs, endUs };
  });
}

/** Every moment at which a writer was not alone with its own reads, in words. */
export function clashesIn(visits: readonly Visit[]): string[] {
  const clashes: string[] = [];
  const events = visits.flatMap((visit) => [
    { atUs: visit.startUs, isStart: true, visit },
    { atUs: visit.endUs, isStart: false, visit },
  ]);
  // A caller that leaves at the very moment at which another one enters has left.
  events.sort((a, b) => a.atUs - b.atUs || Number(a.isStart) - Number(b.isStart));
  const inside = new Map<number, Set<Visit>>();
  for (const { isStart, visit } of events) {
    const others = inside.get(visit.lock) ?? new Set();
    inside.set(visit.lock, others);
    if (!isStart) {
      others.delete(visit);
      continue;
    }
    for (const other of others) {
      const bothRead = visit.side === 'read' && other.side === 'read';
      if (bothRead || other.party === visit.party) continue;
      clashes.push(
        `lock ${String(visit.lock)}: party ${String(visit.party)} began to ${visit.side} at ` +
          `${String(visit.startUs)} µs, while party ${String(other.party)} was there to ${other.side}`,
      );
    }
    others.add(visit);
  }
  return clashes;
}
