import { describe, expect, it } from '@jest/globals';
import { FairLockService } from 'nestjs-redis-lock/core';
import { describeLostMessages } from '../contract/lost-messages.contract.js';
import type { ProxiedConnection } from '../support/proxied-connection.js';
import { channelOf, eventually, roundTrips, useProxiedClients, watch } from '../support/set-up.js';
import { FairView } from './fair-view.js';

const NO_POLL = { pollIntervalMs: 60_000 };
const CHANNELS = `${channelOf('a')}:`;

describe('FairLockService when what is handed over does not arrive', () => {
  const { redis, proxy, open } = useProxiedClients(FairLockService);
  const view = new FairView(redis, 'a');

  describeLostMessages({
    ...{ redis, open, proxy, grants: CHANNELS },
    held: (owner) => ({ [owner]: '1' }),
    inQueue: async (...clients) => {
      await eventually(async () => {
        const processes = (await view.queue()).map((owner) => owner.split(':')[0]);
        return clients.every(({ context: { id } }) => processes.includes(id));
      });
      await view.allWaitersListen();
    },
  });

  const waiting = async () => {
    const [holder, waiter] = [open(NO_POLL), open(NO_POLL)];
    const held = await holder.locks.acquire('a');
    const next = await view.enqueue(waiter.locks);
    await view.allWaitersListen();
    return { holder, waiter, held, next };
  };

  it('takes no message for a grant that does not know its claim', async () => {
    const { held, next } = await waiting();
    const record = (await redis.admin.hget(view.keys.waiting, next.owner)) ?? '';
    const nonce = record.split(' ')[2] ?? '';
    const number = next.owner.split(':')[1] ?? '';
    const forged = [
      ...['', ' ', 'null', '1', number, `${number} `, `-1 ${nonce}`, 'x'.repeat(100_000)],
      `${number} ${'0'.repeat(nonce.length)}`,
      `${number} ${nonce.slice(0, -1)}`,
      `${number} ${nonce}x`,
      `${number}0 ${nonce}`,
      `${number}0 ${'f'.repeat(nonce.length)}`,
    ];
    for (const payload of forged) await redis.admin.publish(CHANNELS + next.owner, payload);
    await roundTrips(redis, 20);
    expect(next.state).toBe('pending');
    expect(await redis.admin.hgetall('a')).toEqual({ [held.owner]: '1' });
    expect(await view.queue()).toEqual([next.owner]);
    await held.release();
    await (await next.promise).release();
  });

  it('takes none that was used before, of this waiter or another', async () => {
    const { holder, waiter, held, next } = await waiting();
    const heard: string[] = [];
    const ear = redis.admin.duplicate();
    ear.on('pmessage', (_, __, payload: string) => heard.push(payload));
    await ear.psubscribe(`${CHANNELS}*`);
    await held.release();
    await (await next.promise).release();
    await eventually(() => heard.length > 0);
    ear.disconnect();
    const again = await holder.locks.acquire('a');
    const later = await view.enqueue(waiter.locks);
    await view.allWaitersListen();
    const [payload = ''] = heard;
    const nonce = payload.split(' ')[1] ?? '';
    for (const owner of [next.owner, later.owner]) {
      await redis.admin.publish(CHANNELS + owner, payload);
      await redis.admin.publish(CHANNELS + owner, `${owner.split(':')[1] ?? ''} ${nonce}`);
    }
    await roundTrips(redis, 20);
    expect(later.state).toBe('pending');
    again.assertHeld();
    expect(await redis.admin.hgetall('a')).toEqual({ [again.owner]: '1' });
    await again.release();
    await (await later.promise).release();
  });

  it('of a release whose answer was lost, the next of its process finds it', async () => {
    const ours = open({ connection: proxy.current.url, ...NO_POLL });
    const held = await ours.locks.acquire('a');
    const next = watch(ours.locks.acquire('a', { waitTimeMs: 60_000 }));
    await eventually(async () => (await view.queue()).length === 1);
    await view.allWaitersListen();
    const isCommand = ({ subscriber }: ProxiedConnection) => !subscriber;
    const lost = proxy.current.loseReply({ containing: 'evalsha', times: 1, where: isCommand });
    await held.release();
    const lease = await next.promise;
    expect(lost.hits).toBe(1);
    expect(await redis.admin.hgetall('a')).toEqual({ [lease.owner]: '1' });
    await lease.release();
  });
});
