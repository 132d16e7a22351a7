import { describe, expect, it } from '@jest/globals';
import type { LockSettings } from 'nestjs-redis-lock';
import { useRealRedis, useWorkers } from '../support/set-up.js';
import type { Api, Load } from '../support/workers/share.worker.js';
import { useRedisson } from './redisson.js';

const WORKER = new URL('../support/workers/share.worker.ts', import.meta.url);
const WORK_MS = 2;
const LAST_MS = 6_000;
/** A wait may take so many times one line of all callers. */
const LINES = 3;

/** How long each section was waited for, in ms. */
interface Waits {
  readonly java: readonly number[];
  readonly node: readonly number[];
}

interface Course {
  readonly settings?: Partial<LockSettings>;
  /** Beside a process that only tries. */
  readonly attempts?: boolean;
  readonly workMs?: number;
  /** The longest pause of a Node caller. */
  readonly pauseMs?: number;
  readonly processes?: number;
}

describe('callers of two Java services and of two Node processes', () => {
  const redis = useRealRedis();
  const java = useRedisson(redis);
  const herd = useWorkers();
  const start = () => herd.start<Api>(WORKER);

  const share = async (
    kind: Load['kind'],
    [threads, callers]: readonly [number, number],
    { settings = {}, attempts = false, workMs = WORK_MS, pauseMs = 0, processes = 2 }: Course = {},
  ): Promise<Waits> => {
    const services = [java.current, await java.start()];
    const first = await start();
    const nodes = await Promise.all(Array.from({ length: processes }, start));
    for (const { call } of [first, ...nodes]) await call.open(redis.url, settings);
    const load: Load = { kind, callers: callers / processes, workMs, lastMs: LAST_MS, pauseMs };
    const attempting = attempts ? first.call.attempt(load) : Promise.resolve(0);
    const ofJava = services.map((service) =>
      service.call<number[]>('A', ['load', 'a'], kind, threads / 2, workMs, LAST_MS),
    );
    const ofNode = nodes.map(({ call }) => call.load(load));
    const [inUs, inMs] = [(await Promise.all(ofJava)).flat(), (await Promise.all(ofNode)).flat()];
    const entries = await attempting;
    for (const { call } of [first, ...nodes]) await call.close();
    const waits = { java: inUs.map((us) => us / 1_000), node: inMs };
    report(kind, [threads, callers], waits, entries);
    return waits;
  };

  const report = (
    kind: string,
    [threads, callers]: readonly [number, number],
    { java: ofJava, node: ofNode }: Waits,
    entries: number,
  ) => {
    const sections = ofJava.length + ofNode.length;
    const line = (LAST_MS / sections) * (threads + callers);
    const figures = [median(ofJava), median(ofNode), line].map((ms) => `${ms.toFixed(1)} ms`);
    process.stderr.write(
      `${kind} ${String(threads)}:${String(callers)} Java ${String(ofJava.length)}, ` +
        `Node ${String(ofNode.length)}, first attempts ${String(entries)}; ` +
        `median waits ${figures.join(', ')} in one line\n`,
    );
  };

  /** At least half of what each side's share of the callers is, and no long wait. */
  const expectFair = (waits: Waits, [threads, callers]: readonly [number, number]) => {
    const all = threads + callers;
    const sections = waits.java.length + waits.node.length;
    expect(waits.java.length / sections).toBeGreaterThanOrEqual(threads / all / 2);
    expect(waits.node.length / sections).toBeGreaterThanOrEqual(callers / all / 2);
    const lineMs = (LAST_MS / sections) * all;
    expect(median(waits.java)).toBeLessThanOrEqual(LINES * lineMs);
    expect(median(waits.node)).toBeLessThanOrEqual(LINES * lineMs);
  };

  describe.each(['lock', 'writeLock'] as const)('of the %s', (kind) => {
    it.each([[[4, 4]], [[4, 100]], [[100, 4]]] as const)('share it: %j', async (counts) => {
      expectFair(await share(kind, counts), counts);
    });
  });

  it.each([
    [[16, 2], { processes: 1, pauseMs: 4 }],
    [[16, 2], { pauseMs: 4 }],
    [[16, 2], {}],
    [[8, 8], { pauseMs: 4 }],
    [[100, 8], {}],
    [[100, 4], { workMs: 0 }],
    [[4, 100], { workMs: 0 }],
  ] as const)('share it: %j, %j', async (counts, course) => {
    expectFair(await share('lock', counts, course), counts);
  });

  it('share it beside a process that only tries', async () => {
    const counts = [4, 4] as const;
    expectFair(await share('lock', counts, { attempts: true }), counts);
  });

  it.each([[[4, 4]], [[8, 8]]] as const)('share it by polls: %j', async (counts) => {
    const settings = { wakeUp: 'poll' } as const;
    const { java: ofJava, node } = await share('spinLock', counts, { settings });
    expect(ofJava.length).toBeGreaterThan((ofJava.length + node.length) / 10);
    expect(node.length).toBeGreaterThan((ofJava.length + node.length) / 10);
  });
});

function median(waits: readonly number[]): number {
  return [...waits].sort((a, b) => a - b)[Math.floor(waits.length / 2)] ?? Infinity;
}
