import { EventEmitter, once } from 'node:events';

import { describe, expect, it } from '@jest/globals';
import type { Lease, Lock } from 'nestjs-redis-lock';

import { CLUSTER } from '../../libs/redis-lock/src/cli/permissions.js';
import type { Hold } from '../../libs/redis-lock/src/core/holding/hold.js';
import { tokenKey } from '../../libs/redis-lock/src/primitives/lua/fencing-token.js';
import { queueKeys } from '../../libs/redis-lock/src/primitives/lua/hand-off.js';
import { FairLockService } from '../../libs/redis-lock/src/primitives/fair-lock/fair-lock-service.js';
import { ReadWriteLockService } from '../../libs/redis-lock/src/primitives/read-write-lock/read-write-lock-service.js';
import { SemaphoreService } from '../../libs/redis-lock/src/primitives/semaphore/semaphore-service.js';
import { hashSlot } from '../../libs/redis-lock/src/connection/hash-slot.js';
import type { Application } from '../faults/support/application.js';
import { aclRules } from '../support/acl-rules.js';
import { eventually } from '../support/eventually.js';
import { isRefused, REFUSED, useMovingSlots } from './use-moving-slots.js';

const LEASE_MS = 6_000;
const WAITS = { waitTimeMs: 60_000 };

const ofMovingSlot = ({ context, locks }: Application) => ({
  lock: locks.get('moving'),
  fair: new FairLockService(context).get('moving'),
  ...new ReadWriteLockService(context).get('moving'),
});
type Kind = 'lock' | 'fair' | 'read' | 'write';

/** A slot can stay half way for minutes, as when an administrator moves it by hand. */
describe('while a slot of a Cluster is on its way', () => {
  const { group, process, beginToMove, keysLeft } = useMovingSlots();

  it('the locks of other slots have their queues', async () => {
    const [ours, others] = [await process(), await process()];
    const held = await ours.locks.acquire('moving');
    const finish = await beginToMove('moving');
    await isRefused(() => others.locks.acquire('moving', { waitTimeMs: 500 }));
    const other = await ours.locks.acquire('other');
    const waiting = others.locks.acquire('other', { waitTimeMs: 30_000 });
    const { queue } = queueKeys('other');
    const { admin } = await group().masterOf(hashSlot('other'));
    await eventually(async () => (await admin.exists(queue)) === 1);
    await other.release();
    await (await waiting).release();
    await finish();
    await held.release();
  });

  it('a user with no more than the documented rights renews a key that has moved', async () => {
    const rules = [...aclRules(['LockService'], 'app:'), ...CLUSTER.map((one) => `+${one}`), '&*'];
    for (const { admin } of group().masters) {
      await admin.acl('SETUSER', 'locks', 'reset', 'on', '>secret', ...rules);
    }
    const user = { redisOptions: { username: 'locks', password: 'secret' } };
    const { locks } = await process({ keyPrefix: 'app:' }, true, user);
    const lease = await locks.acquire('moving');
    const finish = await beginToMove('app:moving', 'app:moving');
    await lease.renew();
    await finish();
    await lease.release();
  });

  it('holds of every kind are renewed for longer than their lease, also during nested calls', async () => {
    const { context, locks, events } = await process({ watchdogLeaseMs: LEASE_MS }, false);
    const { holds, clock } = context;
    const names = Array.from({ length: 40 }, (_, i) => `{moving}${String(i)}`);
    const leases: Lease[] = await Promise.all(names.map((name) => locks.acquire(name)));
    leases.push(await new FairLockService(context).acquire('{moving}fair'));
    const readWrite = new ReadWriteLockService(context);
    const reading = (name: string) => readWrite.get(name).read;
    leases.push(await readWrite.get('{moving}write').write.acquire());
    const readers = ['{moving}one', '{moving}two'].flatMap((name) => [name, name]);
    leases.push(...(await Promise.all(readers.map((name) => reading(name).acquire()))));
    const semaphore = new SemaphoreService(context).get('{moving}permits');
    await semaphore.trySetPermits(3);
    leases.push(await semaphore.acquire({ permits: 2 }));

    const moving = new EventEmitter();
    const [begun, ended] = [once(moving, 'begun'), once(moving, 'ended')];
    const outer: Lease[] = [];
    const nested = [
      reading('{moving}three').using(async (lease) => {
        outer.push(lease);
        await begun;
        return reading('{moving}three').using(() => 'nested', WAITS);
      }),
      reading('{moving}four').using(async (lease) => {
        const inner = await reading('{moving}four').acquire();
        outer.push(lease);
        await begun;
        await Promise.allSettled([inner.release(), ended]);
        return 'nested';
      }),
      locks.using(
        '{moving}five',
        async (lease) => {
          outer.push(lease);
          await begun;
          return locks.using('{moving}five', () => 'nested', { ...WAITS, fenced: true });
        },
        { fenced: true },
      ),
    ];
    await eventually(() => outer.length === nested.length);
    leases.push(...outer);
    const finish = await beginToMove(
      ...['{moving}', ...names.slice(0, 20), '{moving}one', '{moving}permits:timeout'],
      ...[`{moving}two:${String(leases[44]?.owner)}:rwlock_timeout:1`, tokenKey('{moving}five')],
    );
    moving.emit('begun');
    const ends = Math.max(...holds.all.map(({ validUntil }) => validUntil));
    await eventually(() => clock.now() > ends);
    expect(leases.map(({ state }) => state)).toEqual(leases.map(() => 'held'));
    await Promise.all(leases.map((lease) => lease.renew(LEASE_MS)));
    expect(events.filter(({ type }) => type === 'lost')).toEqual([]);
    await finish();
    moving.emit('ended');
    expect(await Promise.all(nested)).toEqual(nested.map(() => 'nested'));
    await Promise.all(leases.slice(0, -outer.length).map((lease) => lease.release()));
    await eventually(async () => {
      expect(await keysLeft('{moving}')).toEqual(['{moving}permits']);
    });
  });

  it('the renewal of a single reader does not fail before', async () => {
    const { context, events } = await process();
    const lease = await new ReadWriteLockService(context).get('moving').read.acquire();
    const [hold] = context.holds.all as [Hold];
    const finish = await beginToMove('moving');
    const { validUntil } = hold;
    context.holds.renewSoon(hold);
    await eventually(() => hold.validUntil > validUntil);
    expect(events).toEqual([]);
    await finish();
    await lease.release();
  });

  it.each<[Kind, Kind, boolean]>([
    ['lock', 'lock', false],
    ['lock', 'lock', true],
    ['fair', 'fair', false],
    ['fair', 'fair', true],
    ['write', 'write', true],
    ['write', 'read', false],
    ['read', 'write', false],
  ])(
    'behind %s, %s waits, and has it when the slot has arrived (fenced: %p)',
    async (holding, waiting, fenced) => {
      const [ours, others] = [await process(), await process()];
      const options = fenced ? { fenced } : {};
      const held = await ofMovingSlot(ours)[holding].acquire(options);
      const finish = await beginToMove('moving', ...(fenced ? [tokenKey('moving')] : []));
      const lock = ofMovingSlot(others)[waiting];
      let next: Lease | undefined;
      const acquiring = lock.acquire({ ...options, ...WAITS }).then((lease) => (next = lease));
      // Its caller waits for 2 s at most, which a slow machine may exceed.
      const released = held.release().catch((error: unknown) => error);
      const error = expect.objectContaining(REFUSED);
      await eventually(() => {
        expect(others.events).toContainEqual(expect.objectContaining({ type: 'waiting', error }));
      });
      expect(next).toBeUndefined();
      await finish();
      const lease = await acquiring;
      expect([undefined, error]).toContainEqual(await released);
      if (fenced) {
        const tokens = [held, lease].map(({ fencingToken }) => Number(fencingToken));
        expect(tokens[1]).toBeGreaterThan(Number(tokens[0]));
      }
      await lease.release();
      await eventually(async () => {
        expect(await keysLeft('moving')).toEqual([]);
      });
    },
  );

  it('a caller of a release waits for 2 s, and the release goes on', async () => {
    const { locks, context } = await process();
    const read = await new ReadWriteLockService(context).get('{moving}read').read.acquire();
    const finish = await beginToMove('{moving}');
    const using = locks.using('{moving}lock', () => 'done');
    await expect(read.release()).rejects.toMatchObject({ ...REFUSED, outcome: 'unknown' });
    expect(await using).toBe('done');
    expect((await keysLeft('{moving}')).length).toBeGreaterThan(1);
    await finish();
    await eventually(async () => {
      expect(await keysLeft('{moving}')).toEqual([]);
    });
  });

  it.each<[Kind, Kind]>([
    ['lock', 'lock'],
    ['fair', 'fair'],
    ['write', 'write'],
    ['write', 'read'],
  ])(
    'behind %s, a call for %s that ends meanwhile leaves nothing behind',
    async (holding, kind) => {
      const [ours, others] = (await Promise.all([process(), process()])).map(ofMovingSlot);
      const held = await ours?.[holding].acquire();
      const lock = others?.[kind] as Lock;
      const before = (await keysLeft('moving')).length;
      const abort = new AbortController();
      const waiting = lock.acquire({ ...WAITS, signal: abort.signal });
      await eventually(async () => (await keysLeft('moving')).length > before);
      const finish = await beginToMove('moving');
      abort.abort();
      await expect(waiting).rejects.toBe(abort.signal.reason);
      await isRefused(() => lock.acquire({ waitTimeMs: 300 }));
      // This one attempt needs a single key.
      if (kind === 'lock') expect(await lock.tryAcquire()).toBeNull();
      else await isRefused(() => lock.tryAcquire());
      if (kind === 'read') await isRefused(() => lock.isLocked());
      const released = held?.release().catch((error: unknown) => error);
      await finish();
      await released;
      await eventually(async () => {
        expect(await keysLeft('moving')).toEqual([]);
      });
    },
  );
});
