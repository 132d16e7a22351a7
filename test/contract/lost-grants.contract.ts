import { once } from 'node:events';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import { LockBackendError, type Lease } from 'nestjs-redis-lock/core';
import { grantChannel, queueKeys } from '../../libs/redis-lock/src/primitives/lua/hand-off.js';
import { RENEW } from '../../libs/redis-lock/src/primitives/lua/hash-lock.js';
import { eventually } from '../support/eventually.js';
import { untilQueued, useProxy, type LockClient } from '../support/lock-client.js';
import type { ProxiedConnection } from '../support/proxied-connection.js';
import type { HandedSuite } from './handed.js';
import { describeLostMessages } from './lost-messages.contract.js';
import { Gate, msUntil, PROMPT_MS, roundTrips, watch, type LockVerbs } from './suite.js';

const NO_POLL = { pollIntervalMs: 60_000 };
const FOR_EVER = { waitTimeMs: Infinity };
const CLAIM_MS = 400;
/** The uuid of a process that never reacts. */
const DEAD = 'dead0000-0000-4000-8000-000000000001';

/** Every lock that is handed on passes these specs, even when the message of the hand-over is lost. */
export function describeLostGrants(name: string, { redis, open, handed }: HandedSuite): void {
  describe(`${name} when what is handed over does not arrive`, () => {
    const { queue, claims } = queueKeys('a', handed.queue);
    const ears: Redis[] = [];

    afterEach(async () => {
      for (const ear of ears.splice(0)) ear.disconnect();
      await redis.admin.del(queue, claims);
    });
    const proxy = useProxy(redis);
    const isSubscriber = ({ subscriber }: ProxiedConnection) => subscriber;

    const inQueue = (...clients: LockClient<LockVerbs>[]) =>
      untilQueued(redis, 'a', clients, handed.queue);

    /** Resolves once the client knows that its subscription stands. */
    const isTold = async ({ connection, context }: LockClient<LockVerbs>) => {
      await redis.listening(grantChannel('a', context.id, handed.queue));
      await new Promise<void>((resolve) => {
        const confirmed = () => {
          stop();
          resolve();
        };
        // Redis confirms in order.
        const stop = connection.listen('behind', { message: () => undefined, confirmed });
      });
    };

    const serverTimeUs = async () => {
      const [seconds, us] = await redis.admin.time();
      return Number(seconds) * 1_000_000 + Number(us);
    };

    /** A dead process stands first in the queue, and will do nothing. */
    const deadInQueue = async (aliveForMs: number) => {
      const now = await serverTimeUs();
      const aliveUntil = Math.round(now / 1_000) + aliveForMs;
      await redis.admin.zadd(queue, now, DEAD);
      await redis.admin.hset(claims, DEAD, `7 ${aliveUntil} abcdef ${CLAIM_MS} s`);
      await redis.admin.pexpire(queue, 60_000);
      await redis.admin.pexpire(claims, 60_000);
    };
    /** Another client listens on the channel of the dead process. */
    const deadListens = async () => {
      const ear = redis.admin.duplicate();
      ears.push(ear);
      await ear.subscribe(grantChannel('a', DEAD, handed.queue));
    };
    /** The lock is released with the dead one first in the queue, and a live one behind it. */
    const releasedToDead = async ({
      pollIntervalMs = NO_POLL.pollIntervalMs,
      isHeard = true,
      aliveForMs = 60_000,
    } = {}) => {
      const [holder, waiter] = [open(NO_POLL), open({ pollIntervalMs })];
      if (isHeard) await deadListens();
      const held = await holder.locks.acquire('a');
      await deadInQueue(aliveForMs);
      const waiting = waiter.locks.acquire('a', FOR_EVER);
      await inQueue(waiter);
      await held.release();
      return { waiter, waiting };
    };

    describe('since the process that has waited longest is dead', () => {
      it('and hears nothing: the next gets it in the same step', async () => {
        const { waiting } = await releasedToDead({ isHeard: false });
        expect(await msUntil(waiting)).toBeLessThan(PROMPT_MS);
      });

      it('and asks no more, though its connection stands: the next gets it in the same step', async () => {
        const { waiting } = await releasedToDead({ aliveForMs: -1 });
        expect(await msUntil(waiting)).toBeLessThan(PROMPT_MS);
      });

      it('and cannot be told from a live one: the next waits for the claim to end, not for a lease', async () => {
        const { waiting } = await releasedToDead({ pollIntervalMs: 100 });
        expect(await redis.admin.hgetall('a')).toEqual(handed.held(`${DEAD}:7`));
        expect(await redis.admin.pttl('a')).toBeLessThanOrEqual(CLAIM_MS);
        expect(await msUntil(waiting)).toBeLessThan(5 * (CLAIM_MS + 100));
      });

      it('and wakes up too late: its confirmation is refused, and takes nothing from any owner', async () => {
        const { waiter, waiting } = await releasedToDead({ pollIntervalMs: 100 });
        const lease = await waiting;
        const late = {
          aliveMs: 5_000,
          nonce: 'abcdef',
          leaseTimeMs: 400,
          mode: 'start',
        } as const;
        const { value } = await handed.claim(waiter.context, 'a', `${DEAD}:7`, late);
        expect(value).toMatchObject({ kind: 'busy' });
        expect(await redis.admin.hgetall('a')).toEqual(handed.held(lease.owner));
        await lease.release();
      });

      it('and so are a hundred before it: no process waits for each of them', async () => {
        const [holder, waiter] = [open(NO_POLL), open({ pollIntervalMs: 200 })];
        const held = await holder.locks.acquire('a');
        const now = await serverTimeUs();
        for (let i = 100; i < 200; i++) {
          await redis.admin.zadd(queue, now - i, `${DEAD.slice(0, -3)}${i}`);
        }
        await redis.admin.pexpire(queue, 60_000);
        const waiting = waiter.locks.acquire('a', FOR_EVER);
        await inQueue(waiter);
        await held.release();
        expect(await msUntil(waiting)).toBeLessThan(5 * 200);
      });
    });

    const { held } = handed;
    describeLostMessages({ redis, open, proxy, grants: `${queue}:`, held, inQueue });

    it.each([
      ['starts', {}],
      ['enters by itself', { fenced: true }],
    ])('is passed on once, to one that %s, when the answer is lost', async (_, options) => {
      const ours = open({ connection: proxy.current.url, ...NO_POLL });
      const first = await ours.locks.acquire('a', options);
      const [next, behind] = [0, 1].map(() => ours.locks.acquire('a', { ...FOR_EVER, ...options }));
      await isTold(ours);
      for (const { lua } of [handed.pass, handed.passInOrder])
        await redis.admin.script('LOAD', lua);
      // On a slow machine the batch may be over.
      const passes = [handed.pass, handed.passInOrder];
      const faults = passes.map((script) => proxy.current.loseAnswerTo(script));
      await first.release();
      const lease = await next;
      expect(faults.reduce((sum, { hits }) => sum + hits, 0)).toBe(1);
      expect(await redis.admin.hgetall('a')).toEqual(handed.held(lease?.owner ?? ''));
      await lease?.release();
      await (await behind)?.release();
      expect(ours.eventsOf('lost')).toEqual([]);
    });

    describe('alone, but in one go with another message', () => {
      /** Two callers of a process, the first of whom gets it; `say` comes before the release, and what it answers after it. */
      const granted = async (
        say: (waiter: LockClient<LockVerbs>) => Promise<() => Promise<unknown>>,
      ) => {
        const holder = open(NO_POLL);
        const waiter = open({ connection: proxy.current.url, ...NO_POLL });
        const held = await holder.locks.acquire('a');
        const callers = [0, 1].map(() => waiter.locks.acquire('a', FOR_EVER));
        await inQueue(waiter);
        const fault = proxy.current.hold('toClient', { where: isSubscriber, containing: '{a}' });
        const sayMore = await say(waiter);
        await held.release();
        await sayMore();
        await eventually(() => fault.hits >= 2);
        fault.heal();
        return callers;
      };
      const expectToGoRound = async (callers: Promise<Lease>[]) => {
        for (const caller of callers) {
          const lease = await caller;
          await roundTrips(redis, 5);
          expect(await redis.admin.hgetall('a')).toEqual(handed.held(lease.owner));
          await lease.release();
        }
        await roundTrips(redis, 5);
        expect(await redis.admin.exists('a', queue, claims)).toBe(0);
      };

      it('that it is free: no place in the queue outlives its caller', async () => {
        const callers = await granted(async () => {
          for (const message of handed.freed)
            await redis.admin.publish(handed.channel('a'), message);
          return async () => undefined;
        });
        await expectToGoRound(callers);
      });

      /** Repeats the message of the next grant to this client. */
      const repeater = async ({ context }: LockClient<LockVerbs>) => {
        const ear = redis.admin.duplicate();
        ears.push(ear);
        const channel = grantChannel('a', context.id, handed.queue);
        const heard = once(ear, 'message') as Promise<[string, string]>;
        await ear.subscribe(channel);
        return async () => redis.admin.publish(channel, (await heard)[1]);
      };

      it('that repeats it: no client releases it', async () => {
        await expectToGoRound(await granted(repeater));
      });

      it('that repeats it while its owner is being released: no client releases it', async () => {
        const [holder, waiter] = [open(NO_POLL), open(NO_POLL)];
        const held = await holder.locks.acquire('a');
        const callers = [0, 1].map(() => waiter.locks.acquire('a', FOR_EVER));
        await inQueue(waiter);
        const { connection, context } = waiter;
        const repeat = await repeater(waiter);
        await held.release();
        const lease = await callers[0];
        // A server that has forgotten the script refuses the release, which then goes again.
        const again = new Gate();
        const run = connection.run.bind(connection);
        connection.run = async (script, ...rest) => {
          if (/release|pass/.test(script.name)) await again.opened;
          return run(script, ...rest);
        };
        const heard = new Gate();
        const message = () => {
          heard.open();
        };
        const channel = grantChannel('a', context.id, handed.queue);
        const stop = connection.listen(channel, { message, confirmed: () => undefined });
        const releasing = watch(lease?.release() ?? Promise.reject(new Error('no lease')));
        await repeat();
        await heard.opened;
        stop();
        await roundTrips(redis, 5);
        again.open();
        await releasing.promise;
        await (await callers[1])?.release();
        expect(waiter.eventsOf('lost')).toEqual([]);
      });
    });

    it('is not told by one message what the next will be', async () => {
      const [holder, waiter] = [open(NO_POLL), open(NO_POLL)];
      const heard: string[] = [];
      const ear = redis.admin.duplicate();
      ears.push(ear);
      ear.on('pmessage', (_, __, payload: string) => heard.push(payload));
      await ear.psubscribe(`${queue}:*`);
      const first = await holder.locks.acquire('a');
      const honest = waiter.locks.acquire('a');
      await inQueue(waiter);
      await first.release();
      await (await honest).release();
      const held = await holder.locks.acquire('a');
      const waiting = watch(waiter.locks.acquire('a', FOR_EVER));
      await inQueue(waiter);
      await eventually(() => heard.length > 0);
      const [number = '', nonce = ''] = heard[0]?.split(' ') ?? [];
      for (let further = 0; further < 50; further++) {
        const next = (BigInt(`0x${nonce}`) + BigInt(further))
          .toString(16)
          .padStart(nonce.length, '0');
        const payload = `${Number(number) + 1} ${next}`;
        await redis.admin.publish(grantChannel('a', waiter.context.id, handed.queue), payload);
      }
      await roundTrips(redis, 20);
      expect(waiting.state).toBe('pending');
      held.assertHeld();
      await held.release();
      await (await waiting.promise).release();
    });

    it('is dated by its own script when the release that named it is sent again', async () => {
      // Each of its releases looks whether others wait.
      const ours = open({ connection: proxy.current.url, interop: 'redisson', ...NO_POLL });
      const theirs = open(NO_POLL);
      const held = await ours.locks.acquire('a');
      const named = watch(ours.locks.acquire('a', FOR_EVER));
      const last = ours.locks.acquire('a', FOR_EVER);
      const elsewhere = theirs.locks.acquire('a', FOR_EVER);
      await inQueue(theirs);
      await isTold(ours);
      await redis.admin.script('LOAD', handed.passInOrder.lua);
      // The answer that says so is lost; the next caller stands in the queue.
      const isCommand = ({ subscriber }: ProxiedConnection) => !subscriber;
      const lost = proxy.current.loseReply({ containing: 'evalsha', times: 1, where: isCommand });
      const messages = proxy.current.hold('toClient', { containing: `${queue}:` });
      proxy.current.refuse();
      const releasing = held.release();
      const between = await elsewhere;
      await eventually(() => lost.hits > 0);
      await between.release();
      const handedOn = await redis.admin.hgetall('a');
      lost.heal();
      await proxy.current.accept();
      await releasing.catch(() => undefined);
      const lease = await named.promise;
      expect(handedOn).toEqual(handed.held(lease.owner));
      // It believes no more than Redis does.
      const leftMs = await redis.admin.pttl('a');
      expect(lease.remainingMs).toBeLessThanOrEqual(leftMs);
      messages.heal();
      await lease.release();
      await (await last).release();
    });

    it('leaves no place in the queue for a caller that is named, and whose own attempt is refused', async () => {
      // So that its process stands in the queue when it is named.
      const byTurns = { ...NO_POLL, interop: 'redisson' } as const;
      const [ours, theirs] = [open(byTurns), open(byTurns)];
      const held = await ours.locks.acquire('a');
      const elsewhere = theirs.locks.acquire('a', FOR_EVER);
      await inQueue(theirs);
      const { connection, context } = ours;
      const refusal = new Gate();
      let refused = 0;
      const run = connection.run.bind(connection);
      connection.run = async (script, ...rest) => {
        if (!/acquire/.test(script.name)) return run(script, ...rest);
        refused += 1;
        await refusal.opened;
        throw new LockBackendError('not allowed', { retryable: false, outcome: 'none' });
      };
      const caller = watch(ours.locks.acquire('a', FOR_EVER));
      await eventually(() => refused === 1);
      const releasing = held.release();
      refusal.open();
      await expect(caller.promise).rejects.toThrow('not allowed');
      await releasing;
      const lease = await elsewhere;
      await eventually(async () => {
        expect(await redis.admin.zrange(queue, 0, '-1')).not.toContain(context.id);
      });
      await lease.release();
      expect(await redis.admin.exists('a')).toBe(0);
    });

    it('leaves nothing when an attempt of the same caller arrives late', async () => {
      const { locks, connection } = open(NO_POLL);
      await (await locks.acquire('warm')).release();
      const late = new Gate();
      let delayed = 0;
      const run = connection.run.bind(connection);
      connection.run = async (script, ...rest) => {
        if (script.name === handed.enter.name && ++delayed === 2) await late.opened;
        return run(script, ...rest);
      };
      const held = await locks.acquire('a');
      const waiting = locks.acquire('a', FOR_EVER);
      await eventually(() => delayed === 2);
      await held.release();
      const releasing = waiting.then((lease) => lease.release());
      await roundTrips(redis, 20);
      late.open();
      await releasing;
      await roundTrips(redis, 20);
      expect(await redis.admin.exists('a')).toBe(0);
    });

    it('keeps what it was handed when its first renewal meets a passing error', async () => {
      const [holder, waiter] = [open(NO_POLL), open(NO_POLL)];
      const held = await holder.locks.acquire('a');
      const waiting = waiter.locks.acquire('a');
      await inQueue(waiter);
      let failures = 0;
      const run = waiter.connection.run.bind(waiter.connection);
      waiter.connection.run = async (script, ...rest) => {
        if (script.name !== RENEW.name || ++failures > 3) return run(script, ...rest);
        throw new LockBackendError('busy', { retryable: true, outcome: 'none' });
      };
      await held.release();
      const lease = await waiting;
      await eventually(() => lease.remainingMs > 20_000);
      expect(failures).toBeGreaterThan(3);
      await lease.release();
    });

    it('takes no message for a grant that does not know its claim', async () => {
      const [holder, waiter] = [open(NO_POLL), open(NO_POLL)];
      const held = await holder.locks.acquire('a');
      const waiting = watch(waiter.locks.acquire('a', FOR_EVER));
      await inQueue(waiter);
      const record = await redis.admin.hget(claims, waiter.context.id);
      const [number = '', , nonce = ''] = record?.split(' ') ?? [];
      const channel = grantChannel('a', waiter.context.id, handed.queue);
      await redis.resetCommandStats();
      const forged = [
        '',
        ' ',
        'null',
        '0',
        number,
        `${number} `,
        `${number} ${'0'.repeat(nonce.length)}`,
        `${number} ${nonce.slice(0, -1)}`,
        `${number} ${nonce}x`,
        `${number}0 ${'f'.repeat(nonce.length)}`,
        `-1 ${nonce}`,
        'x'.repeat(100_000),
      ];
      for (const payload of forged) await redis.admin.publish(channel, payload);
      await roundTrips(redis, 20);
      expect(waiting.state).toBe('pending');
      // An older claim of ours is a hint, and asks once at most.
      await redis.admin.publish(channel, `${number} ${nonce.slice(0, 16)}${'0'.repeat(16)}`);
      await roundTrips(redis, 20);
      expect(waiting.state).toBe('pending');
      expect((await redis.commandStats()).evalsha ?? 0).toBeLessThanOrEqual(1);
      expect(await redis.admin.hgetall('a')).toEqual(handed.held(held.owner));
      await held.release();
      await (await waiting.promise).release();
    });
  });
}
