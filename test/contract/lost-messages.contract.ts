import { describe, expect, it } from '@jest/globals';
import { eventually } from '../support/eventually.js';
import type { FaultProxy } from '../support/fault-proxy.js';
import type { LockClient } from '../support/lock-client.js';
import type { ProxiedConnection } from '../support/proxied-connection.js';
import { Stopwatch } from '../support/stopwatch.js';
import {
  msUntil,
  PROMPT_MS,
  roundTrips,
  watch,
  type LockVerbs,
  type ServerSuite,
} from './suite.js';

const NO_POLL = { pollIntervalMs: 60_000 };
const FOR_EVER = { waitTimeMs: Infinity };

interface LostMessages extends ServerSuite {
  readonly proxy: { readonly current: FaultProxy };
  /** The channels of grants begin with this. */
  readonly grants: string;
  held(owner: string): Record<string, string>;
  /** Resolves once a waiter of each client can be handed the lock. */
  inQueue(...clients: LockClient<LockVerbs>[]): Promise<void>;
}

/** The message of a grant comes late, or never. */
export function describeLostMessages(suite: LostMessages): void {
  const { redis, open, proxy, grants, held, inQueue } = suite;
  /** A holder, and a waiter behind the proxy. */
  const waitingFor = async (settings = {}, options = {}) => {
    const lease = await open(NO_POLL).locks.acquire('a');
    const waiter = open({ connection: proxy.current.url, ...NO_POLL, ...settings });
    const waiting = watch(waiter.locks.acquire('a', { ...FOR_EVER, ...options }));
    await inQueue(waiter);
    return { lease, waiter, waiting };
  };

  describe('since the message is lost', () => {
    it('it is found by the poll', async () => {
      const { lease, waiting } = await waitingFor({ pollIntervalMs: 200 });
      const fault = proxy.current.drop('toClient', { containing: grants });
      await lease.release();
      expect(await msUntil(waiting.promise)).toBeLessThan(5 * 200);
      await eventually(() => fault.hits > 0);
    });

    it('it is found when the subscription stands again', async () => {
      const { lease, waiting } = await waitingFor();
      const fault = proxy.current.drop('toClient', { containing: grants });
      await lease.release();
      await eventually(() => fault.hits > 0);
      proxy.current.cut({ where: ({ subscriber }: ProxiedConnection) => subscriber });
      expect(await msUntil(waiting.promise)).toBeLessThan(5 * 500);
    });

    it('it is released when its caller has left meanwhile', async () => {
      const left = new AbortController();
      const { lease, waiter, waiting } = await waitingFor({}, { signal: left.signal });
      const next = open(NO_POLL);
      const behind = next.locks.acquire('a', FOR_EVER);
      await inQueue(waiter, next);
      const fault = proxy.current.hold('toClient', { containing: grants });
      await lease.release();
      await eventually(() => fault.hits > 0);
      left.abort(new Error('gone'));
      await expect(waiting.promise).rejects.toThrow('gone');
      expect(await msUntil(behind)).toBeLessThan(PROMPT_MS);
      fault.heal();
      await eventually(async () => (await redis.admin.exists('a')) === 0);
    });
  });

  describe('before it is old', () => {
    const late = async (heldForMs: number, claimTimeMs: number) => {
      const { lease, ...rest } = await waitingFor({ claimTimeMs });
      const sinceClaim = new Stopwatch();
      const fault = proxy.current.hold('toClient', { containing: grants });
      await lease.release();
      await eventually(() => fault.hits > 0);
      await eventually(() => sinceClaim.realMs > heldForMs);
      return { ...rest, fault };
    };

    it('and with less than half of the claim left, it is confirmed by Redis before the work begins', async () => {
      const { waiting, fault } = await late(1_200, 2_000);
      expect(waiting.state).toBe('pending');
      const sent = await redis.commandsDuring(async () => {
        fault.heal();
        const lease = await waiting.promise;
        // The whole lease, and not what is left of the claim.
        expect(lease.remainingMs).toBeGreaterThan(20_000);
        await lease.release();
      });
      expect(sent.evalsha).toBe(2);
    });

    it('and with the claim over, it is refused, and waited for on', async () => {
      const { waiting, fault, waiter } = await late(0, 500);
      const taken = await open({ pollIntervalMs: 50 }).locks.acquire('a');
      fault.heal();
      await roundTrips(redis, 20);
      expect(waiting.state).toBe('pending');
      expect(await redis.admin.hgetall('a')).toEqual(held(taken.owner));
      await inQueue(waiter);
      await taken.release();
      await (await waiting.promise).release();
    });
  });
}
