import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { LockTimeoutError, LockReplicationError, type Lease } from 'nestjs-redis-lock/core';
import { eventually } from '../support/eventually.js';
import { pttlMeanwhile } from '../support/meanwhile.js';
import { untilQueued, type LockClient, type LockClientOptions } from '../support/lock-client.js';
import { FOREIGN_OWNER } from '../support/redisson.js';
import { seededRandom } from '../support/random.js';
import { Stopwatch } from '../support/stopwatch.js';
import type { HandedSuite } from './handed.js';
import {
  expectOrder,
  PROMPT_MS,
  Section,
  stallProcess,
  warmUp,
  watch,
  type LockVerbs,
} from './suite.js';

const PATIENT = { waitTimeMs: 60_000 };
/** So long that no spec can pass by it. */
const NO_POLL = { pollIntervalMs: 60_000 };
/** How often a process may hand a lock on to its own callers while others wait. */
const TURN = 8;
/** After that its next release looks whether others wait, by so many commands. */
const BATCH_MS = 20;
const COMMANDS_OF_A_BATCH = 10;

/** Every lock that a leaving owner gives to the next waiter passes these specs. */
export function describeHandOff(name: string, suite: HandedSuite): void {
  const { redis, open, handed } = suite;
  describe(`${name} hands a lock on`, () => {
    /** A client of which the server knows all scripts, and that waits for messages only. */
    const opened = async (settings: LockClientOptions = {}) => {
      const client = open({ ...NO_POLL, ...settings });
      await warmUp(client.locks);
      return client;
    };

    const inQueue = (...clients: LockClient<LockVerbs>[]) =>
      untilQueued(redis, 'a', clients, handed.queue);

    describe('within a process', () => {
      it.each([10, 100, 1_000])(
        'in the order of arrival, by one script for each of %d callers',
        async (count) => {
          // No outsider is to get a chance in between.
          const { locks } = await opened({ interop: 'none' });
          const stopwatch = new Stopwatch();
          const sent = await redis.commandsDuring(() => expectOrder(locks, count));
          // On a slow machine a batch ends by time.
          const further = (COMMANDS_OF_A_BATCH * stopwatch.ms) / BATCH_MS;
          // The first caller takes the lock; a waiter asks again once it has waited for a moment.
          expect(sent.evalsha).toBeLessThanOrEqual(count + 3);
          const commands = Object.values(sent).reduce<number>((sum, calls) => sum + calls, 0);
          expect(commands - (sent.evalsha ?? 0)).toBeLessThanOrEqual(
            handed.commandsOfAPass * count + further,
          );
        },
      );

      it('to two callers who never let go of it at the same time, without asking in between', async () => {
        const { locks } = await opened();
        const sent = await redis.commandsDuring(async () => {
          const runs = [1, 2].map(async () => {
            for (let round = 0; round < 100; round++) {
              await locks.using('a', () => redis.admin.ping(), PATIENT);
            }
          });
          await Promise.all(runs);
        });
        expect(sent.evalsha).toBeLessThanOrEqual(200 + 10);
        expect(sent.publish).toBeLessThanOrEqual(10);
      });

      it('with the lease of the waiter that gets it, and without a moment in which it is free', async () => {
        const { locks } = await opened();
        const first = await locks.acquire('a', { leaseTimeMs: 50_000 });
        const short = locks.acquire('a', { leaseTimeMs: 5_000 });
        const watched = locks.acquire('a');
        await redis.resetCommandStats();
        await first.release();
        const second = await short;
        expect(await redis.admin.hgetall('a')).toEqual(handed.held(second.owner));
        expect(await redis.admin.pttl('a')).toBeLessThanOrEqual(5_000);
        expect(second.remainingMs).toBeLessThanOrEqual(5_000);
        await second.release();
        const third = await watched;
        expect(await redis.admin.pttl('a')).toBeGreaterThan(20_000);
        expect(third.remainingMs).toBeGreaterThan(20_000);
        expect((await redis.commandStats()).publish).toBeUndefined();
        await third.release();
      });

      it('with a token of its own for each that wants one', async () => {
        const { locks } = await opened();
        const tokens: number[] = [];
        const fenced = { ...PATIENT, fenced: true };
        const callers = Array.from({ length: 20 }, (_, i) =>
          locks.using('a', ({ fencingToken }) => tokens.push(fencingToken ?? 0), {
            ...(i % 3 === 0 ? PATIENT : fenced),
          }),
        );
        await Promise.all(callers);
        const taken = tokens.filter((token) => token > 0);
        expect(taken).toHaveLength(13);
        expect(taken).toEqual([...new Set(taken)].sort((a, b) => a - b));
      });

      it('past waiters that give up, run out of time or want replicas that are not there', async () => {
        const { locks } = await opened();
        const held = await locks.acquire('a');
        const aborted = new AbortController();
        const gone = watch(locks.acquire('a', { signal: aborted.signal }));
        const late = watch(locks.acquire('a', { waitTimeMs: 400 }));
        const copied = watch(
          locks.acquire('a', { ...PATIENT, minReplicas: 1, leaseTimeMs: 2_000 }),
        );
        const last = locks.acquire('a', PATIENT);
        aborted.abort(new Error('not any more'));
        await expect(gone.promise).rejects.toThrow('not any more');
        await expect(late.promise).rejects.toThrow(LockTimeoutError);
        await held.release();
        await expect(copied.promise).rejects.toThrow(LockReplicationError);
        await (await last).release();
      });

      it('to no caller twice, when callers leave at the very moment at which it comes', async () => {
        const { locks, eventsOf } = await opened();
        const random = seededRandom('hand-off/leaving');
        const section = new Section();
        const held = await locks.acquire('a');
        const callers = Array.from({ length: 300 }, () => new AbortController());
        let served = 0;
        let left = 0;
        const running = callers.map(({ signal }, i) => {
          const work = async () => {
            served++;
            await redis.admin.ping();
            // The next waiter is among them, and its grant is on its way by then.
            setImmediate(() => {
              for (const other of callers.slice(i + 1, i + 4)) {
                if (random.chance(0.2)) other.abort(new Error('gone'));
              }
            });
          };
          return locks
            .using('a', () => section.run(work), { waitTimeMs: Infinity, signal })
            .catch((error: unknown) => {
              expect(error).toMatchObject({ message: 'gone' });
              left++;
            });
        });
        await held.release();
        await Promise.all(running);
        expect(section.most).toBe(1);
        expect(left).toBeGreaterThan(10);
        expect(eventsOf('late-grant').length).toBeGreaterThan(0);
        // Those who were granted it after they had left were not served.
        expect(served + left).toBe(300);
        await eventually(async () => (await redis.admin.exists('a')) === 0);
      });
    });

    it('is left to those who are in no queue, however long the sections are', async () => {
      const { locks } = await opened();
      const outsider = redis.admin.duplicate();
      let heard = 0;
      outsider.on('message', () => heard++);
      await outsider.subscribe(handed.channel('a'));
      const heardBefore: number[] = [];
      const section = async () => {
        await outsider.ping();
        heardBefore.push(heard);
        await delay(400);
      };
      // The last of them frees it in any case.
      const callers = Array.from({ length: 5 }, () => locks.using('a', section, PATIENT));
      await Promise.all(callers);
      outsider.disconnect();
      expect(heardBefore.at(-1)).toBeGreaterThanOrEqual(1);
    });

    describe('to another process', () => {
      it('without being asked, and is confirmed soon after', async () => {
        const [holder, waiter] = [await opened(), await opened()];
        const held = await holder.locks.acquire('a');
        const waiting = waiter.locks.acquire('a');
        const atFirst = waiting.then(({ remainingMs }) => remainingMs);
        await inQueue(waiter);
        const sent = await redis.commandsDuring(async () => {
          await held.release();
          const lease = await waiting;
          expect(await redis.admin.hgetall('a')).toEqual(handed.held(lease.owner));
          expect(await atFirst).toBeLessThanOrEqual(3_000);
          lease.assertHeld();
          await eventually(() => lease.remainingMs > 20_000);
          expect(await redis.admin.pttl('a')).toBeGreaterThan(20_000);
          await lease.release();
        });
        // The release that hands it over, and the last release. The first renewal goes by its text.
        expect(sent).toMatchObject({ evalsha: 2, eval: 1 });
      });

      it.each([{ leaseTimeMs: 20_000 }, {}])(
        'with its whole lease in Redis, though its work blocks the event loop, given %j',
        async (options) => {
          const claimTimeMs = 500;
          const [holder, waiter] = [await opened(), await opened({ claimTimeMs })];
          await redis.admin.script('FLUSH');
          const held = await holder.locks.acquire('a');
          const work = async (lease: Lease) => {
            const leftMs = pttlMeanwhile(redis, 'a');
            stallProcess(claimTimeMs);
            if ('leaseTimeMs' in options) return leftMs;
            await redis.admin.ping();
            lease.assertHeld();
            return leftMs;
          };
          const working = waiter.locks.using('a', work, options);
          await inQueue(waiter);
          await held.release();
          expect(await working).toBeGreaterThan(10_000);
          expect(waiter.eventsOf('lost')).toEqual([]);
          await eventually(async () => (await redis.admin.exists('a')) === 0);
        },
      );

      it('with the lease that it asked for, also without a watchdog', async () => {
        const [holder, waiter] = [await opened(), await opened()];
        const held = await holder.locks.acquire('a');
        const waiting = waiter.locks.acquire('a', { leaseTimeMs: 20_000 });
        await inQueue(waiter);
        await held.release();
        const lease = await waiting;
        await eventually(() => lease.remainingMs > 10_000);
        await eventually(async () => (await redis.admin.pttl('a')) > 10_000);
        expect(waiter.eventsOf('renewed')).toHaveLength(1);
        await lease.release();
      });

      it('with a token that is larger than all before', async () => {
        const [holder, waiter] = [await opened(), await opened()];
        const held = await holder.locks.acquire('a', { fenced: true });
        const waiting = waiter.locks.acquire('a', { fenced: true });
        await inQueue(waiter);
        await held.release();
        const lease = await waiting;
        expect(lease.fencingToken).toBeGreaterThan(held.fencingToken ?? Infinity);
        expect(await redis.admin.hgetall('a')).toEqual(handed.held(lease.owner));
        await lease.release();
      });

      it('that has waited longest, for a few callers at a time', async () => {
        const clients = await Promise.all(
          Array.from({ length: 4 }, () => opened({ interop: 'none' })),
        );
        const section = new Section();
        const order: number[] = [];
        const served = clients.map((): number[] => []);
        const start = await clients[0]?.locks.acquire('a');
        const callers = clients.flatMap(({ locks }, process) =>
          Array.from({ length: 40 }, (_, caller) =>
            locks.using(
              'a',
              () =>
                section.run(() => {
                  order.push(process);
                  served[process]?.push(caller);
                }),
              PATIENT,
            ),
          ),
        );
        await inQueue(...clients.slice(1));
        await start?.release();
        await Promise.all(callers);
        expect(section.most).toBe(1);
        for (const callers of served) expect(callers).toEqual([...callers].sort((a, b) => a - b));
        // While all processes wait, no process has more than 1 turn, and each has 1 before any has 2.
        const turns = order.join('').match(/0+|1+|2+|3+/g) ?? [];
        const whileAllWait = turns.slice(0, 16);
        expect(Math.max(...whileAllWait.map((turn) => turn.length))).toBeLessThanOrEqual(TURN);
        for (let round = 4; round < 16; round += 4) {
          expect(
            new Set(whileAllWait.slice(round, round + 4).map(([process]) => process)).size,
          ).toBe(4);
        }
      });

      it('before a process with long sections has as many of them as others', async () => {
        const slow = await opened({ interop: 'none' });
        const waiter = await opened({ interop: 'none' });
        const lease = await slow.locks.acquire('a');
        let sections = 0;
        const work = async () => {
          sections++;
          await delay(100);
        };
        const callers = Array.from({ length: TURN }, () => slow.locks.using('a', work, PATIENT));
        const waiting = waiter.locks.acquire('a', PATIENT);
        await inQueue(waiter);
        await lease.release();
        await (await waiting).release();
        // Its batch is over after its first section: 5 times as long at most.
        expect(sections).toBeLessThanOrEqual(2);
        await Promise.all(callers);
      });

      it.each([
        ['fenced', { fenced: true }],
        ['unfenced', {}],
      ])('also while callers that are %s keep asking elsewhere', async (_, options) => {
        const [hog, other] = [await opened(), await opened()];
        let isOn = true;
        let sections = 0;
        const callers = Array.from({ length: 4 }, async () => {
          while (isOn) {
            await hog.locks.using('a', () => redis.admin.ping(), { ...PATIENT, ...options });
            sections++;
          }
        });
        await eventually(() => sections > 20);
        const before = sections;
        await (await other.locks.acquire('a', PATIENT)).release();
        // Those of the turn that was on when it came into the queue, and what went on meanwhile.
        expect(sections - before).toBeLessThan(20 * TURN);
        isOn = false;
        await Promise.all(callers);
      });

      it('and to its next caller at once, when the one for whom it stood in the queue has left', async () => {
        const [holder, waiter] = [await opened(), await opened()];
        const held = await holder.locks.acquire('a');
        const gone = watch(waiter.locks.acquire('a', { waitTimeMs: 200 }));
        const next = waiter.locks.acquire('a', PATIENT);
        await inQueue(waiter);
        await expect(gone.promise).rejects.toThrow(LockTimeoutError);
        await inQueue(waiter);
        const stopwatch = new Stopwatch();
        await held.release();
        const lease = await next;
        expect(stopwatch.ms).toBeLessThan(PROMPT_MS);
        await lease.release();
      });

      it('that polls where there are no messages', async () => {
        const [holder, waiter] = [await opened(), await opened({ wakeUp: 'poll' })];
        const held = await holder.locks.acquire('a');
        const waiting = waiter.locks.acquire('a', { fenced: true });
        await inQueue(waiter);
        await held.release();
        const lease = await waiting;
        expect(lease.fencingToken).toBeGreaterThan(0);
        expect(await redis.admin.hgetall('a')).toEqual(handed.held(lease.owner));
        await lease.release();
      });

      it('leaves no trace of a process that has waited', async () => {
        const [holder, waiter] = [await opened(), await opened()];
        const held = await holder.locks.acquire('a');
        const waiting = watch(waiter.locks.acquire('a', { waitTimeMs: 300 }));
        await inQueue(waiter);
        for (const key of await redis.admin.keys('nestjs_*')) {
          expect(await redis.admin.pttl(key)).toBeGreaterThan(0);
        }
        await expect(waiting.promise).rejects.toThrow(LockTimeoutError);
        await eventually(async () => (await redis.admin.keys('nestjs_*')).length === 0);
        await held.release();
      });
    });

    describe('and leaves it to Java in between', () => {
      /** Redisson waits for a message, and tries again when one comes. */
      const javaGetsIn = async (): Promise<number> => {
        const ears = redis.admin.duplicate();
        try {
          const stopwatch = new Stopwatch();
          const got = new Promise<void>((resolve, reject) => {
            const attempt = async () => {
              if (await handed.java.tryLock(redis.admin, 'a')) resolve();
            };
            ears.on('message', () => void attempt().catch(reject));
          });
          await ears.subscribe(handed.channel('a'));
          await got;
          return stopwatch.ms;
        } finally {
          ears.disconnect();
        }
      };

      it.each([
        [1, 2],
        [1, 100],
        [3, 1],
        [2, 2],
        [4, 25],
      ])('also while %d processes with %d callers each keep asking', async (processes, callers) => {
        const clients = await Promise.all(Array.from({ length: processes }, () => opened()));
        const section = new Section();
        let isOn = true;
        let violations = 0;
        const work = async () => {
          const fields = Object.keys(await redis.admin.hgetall('a'));
          const foreign = Object.keys(handed.held(FOREIGN_OWNER));
          if (fields.length !== foreign.length || fields.includes(foreign.at(-1) ?? ''))
            violations++;
        };
        const running = clients.flatMap(({ locks }) =>
          Array.from({ length: callers }, async () => {
            while (isOn) await locks.using('a', () => section.run(work), PATIENT);
          }),
        );
        for (let time = 0; time < 2; time++) {
          // Once a second at least.
          expect(await javaGetsIn()).toBeLessThan(5 * 1_000);
          expect(await redis.admin.hgetall('a')).toEqual(handed.held(FOREIGN_OWNER));
          await handed.java.unlock(redis.admin, 'a');
        }
        isOn = false;
        await Promise.all(running);
        expect(section.most).toBe(1);
        expect(violations).toBe(0);
      });

      it('again and again, though few callers with pauses form no queue', async () => {
        // On one connection Java asks right behind Node, however slow the machine is.
        const { locks } = await opened({ connection: redis.admin });
        const ears = redis.admin.duplicate();
        await ears.subscribe(handed.channel('a'));
        let lease = await locks.acquire('a', PATIENT);
        let turns = 0;
        const stopwatch = new Stopwatch();
        while (turns < 10 && stopwatch.ms < 5 * 1_000) {
          await lease.release();
          const next = locks.acquire('a', PATIENT);
          // The call is sent by then.
          await new Promise(setImmediate);
          if (await handed.java.tryLock(redis.admin, 'a')) {
            turns++;
            await handed.java.unlock(redis.admin, 'a');
          }
          lease = await next;
        }
        await lease.release();
        ears.disconnect();
        expect(turns).toBe(10);
      });

      it.each([
        ['with every release', 'redisson', true],
        ['never', 'none', false],
      ] as const)('%s with interop: %p', async (_, interop, announced) => {
        const [holder, waiter] = [await opened({ interop }), await opened({ interop })];
        const ears = redis.admin.duplicate();
        await ears.subscribe(handed.channel('a'));
        const heard: string[] = [];
        ears.on('message', (_, message) => heard.push(message));
        const held = await holder.locks.acquire('a');
        const waiting = waiter.locks.acquire('a');
        await inQueue(waiter);
        await held.release();
        const lease = await waiting;
        await ears.ping();
        ears.disconnect();
        expect(heard).toEqual(announced ? handed.freed : []);
        await lease.release();
      });
    });
  });
}
