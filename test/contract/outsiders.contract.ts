import { afterEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import type { AcquireAnswer } from '../../libs/redis-lock/src/core/holding/protocol.js';
import { openEveryMs, STAND_BACK_MS } from '../../libs/redis-lock/src/core/waiting/outsiders.js';
import {
  LONGEST_OPEN_MS,
  MANY_CALLERS,
} from '../../libs/redis-lock/src/primitives/lua/outsiders.lua.js';
import { nodesChannel } from '../../libs/redis-lock/src/core/redis/key-names.js';
import { eventually } from '../support/eventually.js';
import {
  FREE,
  LEASE_MS,
  busy,
  CLAIM_MS,
  claimArgs,
  claimOf,
  granted,
  handedTo,
  heldBy,
  leaveArgs,
  passArgs,
  standing,
  useQueueScripts,
} from '../support/queue-scripts.js';
import { ownerOf, processOf, type Values } from '../support/queue-view.js';
import type { QueueKindUnderTest } from '../support/queue-kinds.js';

const OPENED_TTL_MS = 3_000;
const EVERY_MS = openEveryMs({ interop: 'auto' });

/** The state at the moment of a call, by the clock of the server. */
interface Before {
  /** The queue has had it for so long. */
  readonly lastedMs?: number;
  /** Up to when the queue stands back, and when the outsiders' time is over. */
  readonly open?: readonly [number, number];
  /** So many times in a row, the outsiders have not used their time. */
  readonly unused?: number;
  /** B has stood in the queue for so long. */
  readonly waitedMs?: number;
}

/** Lua: for whatever follows, no time goes by after `nowMs`. */
const STOPPED_CLOCK = `
local time = redis.call('time')
local nowMs = time[1] * 1000 + math.floor(time[2] / 1000)
local running = redis
local redis = setmetatable({}, { __index = running })
function redis.call(command, ...)
  return command == 'time' and time or running.call(command, ...)
end`;

/** Lua: PUBSUB counts as Valkey 9.1 does while it resizes a table. */
const WRONG_COUNT = `local right = redis
local redis = setmetatable({}, { __index = right })
function redis.pcall(command, ...)
  return command == 'pubsub' and { '', 336382119, '', 1 } or right.pcall(command, ...)
end
`;

/** The times in the answer to a refused claim. */
function timesOf(answer: AcquireAnswer) {
  if (answer.kind !== 'busy') throw new Error(`The answer is ${answer.kind}`);
  return { remainingMs: answer.remainingMs, standBackMs: answer.standBackMs ?? 0 };
}

/** Those who are in no queue, as Java services are. */
export function describeOutsiders(name: string, kind: QueueKindUnderTest): void {
  describe(`outsiders, to whom the scripts of the queue leave ${name} for their share of the time`, () => {
    const freed = kind.freed.map((message) => `all: ${message}`);
    const { look, claim, enter, leave, takeTurns, stand, hold, redis, ear, view } =
      useQueueScripts(kind);
    type AnyScript = QueueKindUnderTest['claim'] | QueueKindUnderTest['leave'];

    /** Everything happens in one moment of the server, on which nothing comes in between. */
    const before = <S extends AnyScript>(
      script: S,
      { lastedMs, open, unused = 0, waitedMs }: Before,
    ): S => {
      const key = (name: string) => `KEYS[${String(script.keys.indexOf(name) + 1)}]`;
      const [untilMs = 0, endMs = 0] = open ?? [];
      const at = (ms: number) => `nowMs + ${String(ms)}`;
      const times = open ? `${at(untilMs)}, ${at(endMs)}` : '0, 0';
      const steps = [STOPPED_CLOCK];
      if (lastedMs !== undefined) {
        steps.push(
          `local times = string.format('%.0f %.0f %.0f %.0f', ${at(-lastedMs)}, ${times}, ${String(unused)})`,
        );
        steps.push(`redis.call('set', ${key('opened')}, times, 'px', 3000)`);
      }
      if (waitedMs !== undefined) {
        const score = `string.format('%.0f', (${at(-waitedMs)}) * 1000)`;
        steps.push(`redis.call('zadd', ${key('queue')}, 'xx', ${score}, '${processOf('B')}')`);
      }
      return { ...script, lua: [...steps, script.lua].join('\n') };
    };

    const others: Redis[] = [];
    afterEach(() => {
      for (const other of others.splice(0)) other.disconnect();
    });
    /** So many processes of ours that wait, besides. */
    const listenAsNodes = async (count: number) => {
      for (let i = 0; i < count; i += 1) {
        const node = new Redis(redis.url, { connectionName: 'test-ear', disconnectTimeout: 50 });
        others.push(node);
        await node.subscribe(kind.channel, nodesChannel(kind.channel));
      }
    };
    /** `B1` waits, and an outsider listens for announcements. */
    const begin = async () => {
      await ear.listen('AB');
      await ear.listenToAll();
      await hold('A1', 1);
      await stand('B1');
    };
    /** `B1` has it for as long as its claim says, which is shorter than what was left. */
    const toldShorter = ['B: 1 b1', 'all: 00'];

    const ours = { owner: ownerOf('A1') };
    const turn = {
      ...passArgs,
      waitedMs: 0,
      callers: 1,
      successor: ownerOf('A2'),
      claim: claimOf('A2'),
    };
    const RELEASES: [string, QueueKindUnderTest['leave'], Values][] = [
      ['leave', kind.leave, ours],
      ['withdraw', kind.withdraw, ours],
      ['take-turns', kind.takeTurns, { ...ours, ...turn }],
    ];

    describe.each(RELEASES)('%s', (name, script, args) => {
      const isTurn = name === 'take-turns';
      const release = (was: Before = {}, { openEveryMs = EVERY_MS, by = script } = {}) => {
        const { waitedMs = 0 } = was;
        return view.run(before(by, was), { ...args, ...(isTurn && { waitedMs }), openEveryMs });
      };
      const opened = (...owners: string[]) => ({
        ...{ ...FREE, ...standing(...owners, ...(isTurn ? ['A2'] : [])), isOpened: true },
      });
      const handedOver = { ...handedTo('B1'), ...(isTurn && standing('A2')) };

      it.each([
        [14, 21],
        [300, 450],
        [667, LONGEST_OPEN_MS],
        [2 * LONGEST_OPEN_MS, LONGEST_OPEN_MS],
      ])('leaves it, after the queue has had it for %d ms, for %d ms', async (lastedMs, forMs) => {
        await begin();
        const sentAt = await view.now();
        expect(await release({ lastedMs })).toBe('opened');
        const { sinceMs, untilMs, endMs, ttlMs, now } = await view.window();
        expect(await look()).toEqual(opened('B1'));
        expect(sinceMs).toBeGreaterThanOrEqual(sentAt);
        expect(sinceMs).toBeLessThanOrEqual(now);
        expect(untilMs - sinceMs).toBe(STAND_BACK_MS);
        expect(endMs - sinceMs).toBe(forMs);
        expect(ttlMs).toBeGreaterThan(OPENED_TTL_MS - (now - sentAt) - 5);
        expect(await ear.heard()).toEqual(freed);
      });

      it('takes the time for which the first has waited, when nothing else is known', async () => {
        await begin();
        expect(await release({ waitedMs: 300 })).toBe('opened');
        const { sinceMs, endMs } = await view.window();
        expect(endMs - sinceMs).toBe(450);
      });

      it('begins to count when somebody waits, and hands over', async () => {
        await begin();
        const sentAt = await view.now();
        expect(await release({ waitedMs: 0 })).toBe('done');
        const { sinceMs, untilMs, endMs, ttlMs, now } = await view.window();
        expect(await look()).toEqual({ ...handedOver, isOpened: true });
        expect(sinceMs).toBeGreaterThanOrEqual(sentAt);
        expect(sinceMs).toBeLessThanOrEqual(now);
        expect([untilMs, endMs]).toEqual([0, 0]);
        expect(ttlMs).toBeGreaterThan(OPENED_TTL_MS - (now - sentAt) - 5);
        expect(await ear.heard()).toEqual(toldShorter);
      });

      it.each([0, 13])(
        'hands over after %d ms, however long somebody has waited',
        async (lastedMs) => {
          await begin();
          expect(await release({ lastedMs, waitedMs: 7_000 })).toBe('done');
          expect(await look()).toEqual({ ...handedOver, isOpened: true });
          const { sinceMs, untilMs, endMs, now } = await view.window();
          expect(now - sinceMs).toBeGreaterThanOrEqual(lastedMs);
          expect([untilMs, endMs]).toEqual([0, 0]);
          expect(await ear.heard()).toEqual(toldShorter);
        },
      );

      it.each([
        [1, 100, 150],
        [2, 100, 75],
        [4, 100, 37],
        [5, 100, 30],
        [6, 100, 25],
        [9, 100, 0],
        [10, 134, 20],
        [10, 133, 0],
        // Once a second at least.
        [100, EVERY_MS - 1, 0],
        [100, EVERY_MS, STAND_BACK_MS],
      ])(
        'shares with %d processes: after %d ms for %d ms',
        async (nodes, lastedMs, forMs) => {
          await begin();
          await listenAsNodes(nodes);
          expect(await release({ lastedMs })).toBe(forMs > 0 ? 'opened' : 'done');
          const { sinceMs, endMs } = await view.window();
          expect(endMs === 0 ? 0 : endMs - sinceMs).toBe(forMs);
        },
        20_000,
      );

      const UNCOUNTED: [string, typeof script][] = [
        ['Redis cannot count them', { ...script, ...script.inMode.broadcast() }],
        ['a server counts wrongly', { ...script, lua: WRONG_COUNT + script.lua }],
      ];

      describe.each(UNCOUNTED)('where %s', (_, by) => {
        it.each([
          [EVERY_MS - 1, 'done', 0],
          [EVERY_MS, 'opened', STAND_BACK_MS],
        ])('does so once a second (%d ms)', async (lastedMs, answer, forMs) => {
          await begin();
          expect(await release({ lastedMs }, { by })).toBe(answer);
          const { sinceMs, endMs } = await view.window();
          expect(endMs === 0 ? 0 : endMs - sinceMs).toBe(forMs);
        });
      });

      it('says nothing of a lease that ends no sooner', async () => {
        await begin();
        await redis.admin.pexpire('k', CLAIM_MS);
        expect(await release({ lastedMs: 0 })).toBe('done');
        expect(await look()).toEqual({ ...handedOver, isOpened: true });
        expect(await ear.heard()).toEqual(['B: 1 b1']);
      });

      it('opens when the clock was set back', async () => {
        await begin();
        expect(await release({ lastedMs: -10_000 })).toBe('opened');
        expect(await look()).toEqual(opened('B1'));
        const { sinceMs, endMs, now } = await view.window();
        expect(sinceMs).toBeLessThanOrEqual(now);
        expect(endMs - sinceMs).toBe(EVERY_MS);
      });

      it.each([
        [1, 1],
        [15, 15],
        [300, STAND_BACK_MS],
        [LONGEST_OPEN_MS, STAND_BACK_MS],
      ])('leaves it again while %d ms of their time are left', async (leftMs, forMs) => {
        await begin();
        expect(await release({ lastedMs: 0, open: [1, leftMs] })).toBe('opened');
        expect(await look()).toEqual(opened('B1'));
        const { sinceMs, untilMs, endMs } = await view.window();
        expect([untilMs - sinceMs, endMs - sinceMs]).toEqual([forMs, leftMs]);
        expect(await ear.heard()).toEqual(freed);
      });

      it.each([0, -1, LONGEST_OPEN_MS + 1])('does not when %d ms are left', async (leftMs) => {
        await begin();
        expect(await release({ lastedMs: 0, open: [5, leftMs] })).toBe('done');
        expect(await look()).toEqual({ ...handedOver, isOpened: true });
      });

      it.each([
        [1, 300, 450],
        [2, 300, 225],
        [3, 300, 112],
        [4, 300, 56],
        [5, 300, 28],
        [6, 300, 0],
        [30, EVERY_MS, STAND_BACK_MS],
      ])(
        'leaves it for a shorter time after they have not used it %d times: %d ms, %d ms',
        async (unused, lastedMs, forMs) => {
          await begin();
          expect(await release({ lastedMs, unused })).toBe(forMs > 0 ? 'opened' : 'done');
          const { sinceMs, endMs, unused: then } = await view.window();
          expect(endMs === 0 ? 0 : endMs - sinceMs).toBe(forMs);
          expect(then).toBe(unused);
        },
      );

      it('counts a time that nobody has used, and that a first attempt has ended', async () => {
        await begin();
        const was: Before = { lastedMs: 300, open: [-1, 700], unused: 1 };
        expect(await release(was)).toBe('opened');
        const { sinceMs, endMs, unused } = await view.window();
        expect([endMs - sinceMs, unused]).toEqual([225, 2]);
      });

      it('waits until the queue has had it as long as outsiders had it too long', async () => {
        await begin();
        expect(await release({ lastedMs: -LONGEST_OPEN_MS })).toBe('done');
        expect(await look()).toEqual({ ...handedOver, isOpened: true });
      });

      it('opens when it is time, also if nobody else is in the queue', async () => {
        await ear.listenToAll();
        await hold('A1', 1);
        expect(await release({ lastedMs: 100 })).toBe('opened');
        expect(await look()).toEqual(opened());
        expect(await ear.heard()).toEqual(freed);
      });

      it('does not if nobody else is in the queue, and it is not time', async () => {
        await ear.listenToAll();
        await hold('A1', 1);
        expect(await release({ lastedMs: 0 })).toBe(isTurn ? 'passed' : 'done');
        expect(await look()).toEqual({ ...(isTurn ? heldBy('A2') : FREE), isOpened: true });
        expect(await ear.heard()).toEqual(isTurn ? [] : freed);
      });

      it('counts only where somebody waits', async () => {
        await ear.listenToAll();
        await hold('A1', 1);
        expect(await release()).toBe(isTurn ? 'passed' : 'done');
        // The successor is one that waits.
        expect(await look()).toEqual(isTurn ? { ...heldBy('A2'), isOpened: true } : FREE);
      });

      it('never opens with 0, and does not count', async () => {
        await begin();
        expect(await release({ waitedMs: 7_000 }, { openEveryMs: 0 })).toBe('done');
        expect(await look()).toEqual(handedOver);
        expect(await ear.heard()).toEqual(['B: 1 b1']);
      });

      it('never opens with 0, whatever was counted before', async () => {
        await begin();
        expect(await release({ lastedMs: 300 }, { openEveryMs: 0 })).toBe('done');
        expect(await look()).toEqual({ ...handedOver, isOpened: true });
      });

      it.each([0, 3])('does nothing for processes of ours (%d)', async (nodes) => {
        await begin();
        await ear.stopListeningToAll();
        await listenAsNodes(nodes);
        expect(await release({ waitedMs: 7_000 })).toBe('done');
        expect(await look()).toEqual(handedOver);
        expect(await ear.heard()).toEqual(['B: 1 b1']);
      });

      it.each([0, 1])('opens after each section with 1, for a moment (%d ms)', async (lastedMs) => {
        await begin();
        await listenAsNodes(3);
        expect(await release({ lastedMs }, { openEveryMs: 1 })).toBe('opened');
        const { sinceMs, endMs } = await view.window();
        expect(endMs - sinceMs).toBe(STAND_BACK_MS);
        await eventually(async () => (await claim('B1')).kind === 'granted');
      });
    });

    it.each([
      [1, 450],
      [MANY_CALLERS - 1, 450],
      [MANY_CALLERS, 200],
      [1_000, 200],
    ])('have it beside a process with %d callers for %d ms of 300', async (callers, forMs) => {
      await begin();
      const args = { ...ours, ...turn, callers, openEveryMs: EVERY_MS };
      expect(await view.run(before(kind.takeTurns, { lastedMs: 300 }), args)).toBe('opened');
      const { sinceMs, endMs } = await view.window();
      expect(endMs - sinceMs).toBe(forMs);
    });

    it('get it after the first in the queue has waited, not another', async () => {
      await begin();
      await stand('C1', { sinceMs: -10 });
      const args = { ...ours, openEveryMs: EVERY_MS };
      expect(await view.run(before(kind.leave, { waitedMs: 50 }), args)).toBe('opened');
    });

    describe('those in the queue', () => {
      const CLAIMS = [kind.claim, kind.claimFenced];
      const claimWith = (was: Before, owner: string, script: QueueKindUnderTest['claim']) =>
        view.run(before(script, was), claimArgs(owner));

      it.each([
        [5, 5],
        [5, 300],
        [STAND_BACK_MS, STAND_BACK_MS],
        [STAND_BACK_MS, LONGEST_OPEN_MS],
      ])('stand back for the last %d ms of it, of %d', async (untilMs, endMs) => {
        await stand('B1');
        for (const [i, script] of CLAIMS.entries()) {
          for (const process of 'BC') {
            const was: Before = { lastedMs: 100, open: [untilMs, endMs] };
            const answer = await claimWith(was, `${process}${String(i + 1)}`, script);
            expect(answer).toMatchObject(busy);
            const { remainingMs, standBackMs } = timesOf(answer);
            expect(standBackMs).toBeGreaterThan(0);
            expect(standBackMs).toBeLessThanOrEqual(untilMs);
            expect(remainingMs).toBe(standBackMs);
          }
        }
        expect(await look()).toEqual({ ...FREE, ...standing('B2', 'C2'), isOpened: true });
      });

      it.each([
        [-5, 300, STAND_BACK_MS],
        [0, 5, 5],
        [15, LONGEST_OPEN_MS, STAND_BACK_MS],
      ])(
        'go on standing back while somebody has it: %d ms of %d are left, then %d',
        async (untilMs, endMs, thenMs) => {
          for (const script of CLAIMS) {
            await hold('X1', 1);
            const was: Before = { lastedMs: 100, open: [untilMs, endMs], unused: 3 };
            const answer = await claimWith(was, 'B1', script);
            expect(answer).toMatchObject({ ...busy, remainingMs: expect.any(Number) });
            const { remainingMs, standBackMs } = timesOf(answer);
            expect(remainingMs).toBeGreaterThan(LEASE_MS / 2);
            expect(standBackMs).toBeGreaterThan(0);
            expect(standBackMs).toBeLessThanOrEqual(thenMs);
            const window = await view.window();
            expect(window.unused).toBe(0);
            expect(window.endMs - window.sinceMs).toBe(endMs + 100);
            expect(window.untilMs - window.sinceMs).toBe(thenMs + 100);
          }
        },
      );

      it.each([
        ['their time is over', [0, 0]],
        ['they have not used it for a moment', [0, 300]],
        ['the clock was set back', [STAND_BACK_MS + 5, 300]],
        ['the clock was set back by far', [100_000, 100_000]],
      ] as const)('get in when %s, and count anew', async (_, open) => {
        for (const script of CLAIMS) {
          const sentAt = await view.now();
          const answer = await claimWith({ lastedMs: 100, open }, 'B1', script);
          expect(answer).toMatchObject({ kind: 'granted' });
          expect(await look()).toEqual({ ...heldBy('B1'), isOpened: true });
          const { sinceMs, untilMs, endMs, now } = await view.window();
          expect(sinceMs).toBeGreaterThanOrEqual(sentAt);
          expect(sinceMs).toBeLessThanOrEqual(now);
          expect([untilMs, endMs]).toEqual([0, 0]);
          await redis.admin.del('k');
        }
      });

      it.each([
        [30, 0, 0, 1],
        [50, 0, 20, 1],
        [5_000, 0, LONGEST_OPEN_MS, 1],
        [50, 1, 0, 2],
        [50, 2, 0, 3],
      ])(
        'have it the longer, %d ms after 30 ms of outsiders that left it unused %d times: %d ms',
        async (agoMs, unused, longerMs, then) => {
          for (const script of CLAIMS) {
            const sentAt = await view.now();
            const was: Before = { lastedMs: agoMs + 30, open: [-agoMs, -agoMs], unused };
            expect(await claimWith(was, 'B1', script)).toMatchObject({ kind: 'granted' });
            const window = await view.window();
            expect(window.sinceMs - longerMs).toBeGreaterThanOrEqual(sentAt);
            expect(window.sinceMs - longerMs).toBeLessThanOrEqual(window.now);
            expect(window).toMatchObject({ untilMs: 0, endMs: 0, unused: then });
            await redis.admin.del('k');
          }
        },
      );

      it.each([
        ['their time is over', [0, 0]],
        ['it was over', [-100, -50]],
      ] as const)('wait as ever when somebody has it, and %s', async (_, open) => {
        for (const script of CLAIMS) {
          await hold('X1', 1);
          const answer = await claimWith({ lastedMs: 100, open }, 'B1', script);
          expect(answer).toEqual({ ...busy, remainingMs: expect.any(Number) });
        }
      });

      it('enter what was handed to them at any time', async () => {
        await hold('B1', 0);
        for (const script of CLAIMS) {
          const was: Before = { lastedMs: 100, open: [10, 300] };
          expect(await claimWith(was, 'B1', script)).toMatchObject({ kind: 'granted' });
        }
      });

      it('stand back from the very moment on, at whatever time that is', async () => {
        for (let time = 0; time < 20; time += 1) {
          await redis.admin.flushall();
          await begin();
          await stand('B1', { sinceMs: 2_000 });
          const leaving = { ...ours, ...leaveArgs, openEveryMs: EVERY_MS };
          const answers = await view.runAtOnce(
            [kind.leave, leaving],
            [kind.claim, claimArgs('B1')],
          );
          const standBackMs: unknown = expect.any(Number);
          expect(answers).toEqual(['opened', { ...busy, remainingMs: standBackMs, standBackMs }]);
        }
      });
    });

    it('are not kept from it by a first attempt, which gets it while the queue stands back', async () => {
      await begin();
      await view.setWindow(300);
      await leave('A1', { openEveryMs: EVERY_MS });
      expect(await enter('X1')).toEqual(granted);
      expect(await look()).toEqual({ ...heldBy('X1'), ...standing('B1'), isOpened: true });
    });

    it('get it again from a first attempt, at whatever time that got it', async () => {
      const args = { ...leaveArgs, openEveryMs: EVERY_MS };
      for (let time = 0; time < 20; time += 1) {
        await redis.admin.flushall();
        await begin();
        const answers = await view.runAtOnce(
          [before(kind.leave, { lastedMs: 300 }), { ...args, owner: ownerOf('A1') }],
          [kind.enter, { owner: ownerOf('X1'), leaseMs: LEASE_MS }],
          [kind.leave, { ...args, owner: ownerOf('X1') }],
        );
        expect(answers).toEqual(['opened', granted, 'opened']);
        expect((await look()).lock).toEqual({});
        expect((await ear.heard()).slice(-2 * freed.length)).toEqual([...freed, ...freed]);
      }
    });

    it.each([
      [LEASE_MS - 1_000, ['all: 00']],
      [LEASE_MS, []],
      [LEASE_MS + 1_000, []],
    ])('are told if a successor has it for %d ms, and no longer', async (leaseMs, told) => {
      await ear.listenToAll();
      await hold('A1', 1);
      expect(await takeTurns('A1', 'A2', { leaseMs, openEveryMs: EVERY_MS })).toBe('passed');
      expect(await ear.heard()).toEqual(told);
    });
  });
}
