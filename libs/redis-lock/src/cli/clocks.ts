import type { NodeClient } from '../connection/client.js';
import type { Clock } from '../core/time/clock.js';
import { ask } from './answers.js';
import { ok, unchecked, warn, type Finding } from './finding.js';

/** How far the clock of a server is ahead of this machine's (ms), within a margin. */
export interface Offset {
  readonly node: string;
  readonly aheadMs: number;
  readonly doubtMs: number;
}

const LOOKS = 3;
/** Neither the network nor NTP explains a larger difference. */
const MOST_MS = 1_000;
const FIX = 'let NTP set the clocks of all servers and services';

/** Undefined when Redis refuses TIME to the user. */
export async function offsetOf(
  node: string,
  client: NodeClient,
  clock: Clock,
): Promise<Offset | undefined> {
  let best: Offset | undefined;
  for (let look = 0; look < LOOKS; look++) {
    const [asked, wall] = [clock.now(), clock.wall()];
    const answer = await ask(client, 'time');
    if ('refusal' in answer) return undefined;
    const tookMs = clock.now() - asked;
    const [seconds, micros] = (answer.value as unknown[]).map(Number);
    const serverMs = (seconds ?? 0) * 1_000 + (micros ?? 0) / 1_000;
    const doubtMs = tookMs / 2;
    if (best !== undefined && best.doubtMs <= doubtMs) continue;
    best = { node, aheadMs: serverMs - wall - doubtMs, doubtMs };
  }
  return best;
}

/** Compares each clock with this machine's, and all with each other. */
export function judgeClocks(offsets: readonly (Offset | undefined)[]): Finding[] {
  const known = offsets.filter((offset) => offset !== undefined);
  if (known.length === 0) {
    return [unchecked('clock', 'TIME is refused', 'ACL SETUSER … +time')];
  }
  const furthest = known.reduce((a, b) => (Math.abs(b.aheadMs) > Math.abs(a.aheadMs) ? b : a));
  return [judgeOurs(furthest), ...(known.length > 1 ? [judgeAmong(known)] : [])];
}

function judgeOurs({ node, aheadMs, doubtMs }: Offset): Finding {
  const found = `${spoken(aheadMs)} this machine, give or take ${rounded(doubtMs)}`;
  if (Math.abs(aheadMs) - doubtMs <= MOST_MS) return ok('clock', found);
  const why = `${node} is ${found}: Java services set the times of fair locks by their own clocks`;
  return warn('clock', why, FIX);
}

function judgeAmong(offsets: readonly Offset[]): Finding {
  const ahead = offsets.map(({ aheadMs }) => aheadMs);
  const apart = Math.max(...ahead) - Math.min(...ahead);
  const doubt = Math.max(...offsets.map(({ doubtMs }) => doubtMs)) * 2;
  const found = `the servers are ${rounded(apart)} apart, give or take ${rounded(doubt)}`;
  if (apart - doubt <= MOST_MS) return ok('clocks', found);
  const why = `${found}: after a failover a fencing token may be lower than the last`;
  return warn('clocks', why, FIX);
}

function spoken(aheadMs: number): string {
  return `${rounded(Math.abs(aheadMs))} ${aheadMs < 0 ? 'behind' : 'ahead of'}`;
}

const HOUR_MS = 3_600_000;

export function rounded(ms: number): string {
  if (ms >= 2 * HOUR_MS) return `${(ms / HOUR_MS).toFixed(0)} h`;
  if (ms >= 1_000) return `${(ms / 1_000).toFixed(ms < 10_000 ? 1 : 0)} s`;
  return `${ms.toFixed(ms < 10 ? 1 : 0)} ms`;
}
