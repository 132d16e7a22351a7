import { grantChannel, queueKeys } from '../../../libs/redis-lock/src/primitives/lua/hand-off.js';
import type { RedisFixture } from '../../support/redis-server.js';
import { Random } from '../../support/random.js';
import { channelOf } from './hand-over.js';
import { pause } from './pace.js';

interface Receivers {
  readonly redis: RedisFixture;
  readonly locks: readonly string[];
}

/** On each channel, in each forgery. */
const FORGERIES = 20;

/** A client publishes messages on the channels of all listeners and locks; some of them look valid. */
export async function forge({ redis, locks }: Receivers, seed: number): Promise<void> {
  const random = new Random(String(seed));
  const heard = (await redis.admin.pubsub('CHANNELS')) as string[];
  const channels = new Set([...heard, ...locks.map(channelOf)]);
  const messages = [...channels].flatMap((channel) =>
    Array.from({ length: FORGERIES }, () => redis.admin.publish(channel, somethingOf(random))),
  );
  await Promise.all(messages);
}

function somethingOf(random: Random): string {
  const number = String(random.int(0, 1_000));
  return random.pick(['0', '1', number, '', `${number}:${number}`, '{}', '\0', 'x'.repeat(10_000)]);
}

/** All messages within this time are published once more, later and on the same channels. */
export async function repeatMessages({ redis }: Receivers, ms: number): Promise<void> {
  const listener = redis.admin.duplicate();
  const said: [channel: string, message: string][] = [];
  listener.on('pmessage', (_: string, channel: string, message: string) => {
    said.push([channel, message]);
  });
  await listener.psubscribe('*');
  await pause(ms);
  listener.disconnect();
  await pause(ms);
  await Promise.all(said.map(([channel, message]) => redis.admin.publish(channel, message)));
}

/** All nonces of a process begin with the same characters, so many; no other client can guess the rest. */
const MARK = 16;

/** Every process in the queue gets the message of a grant, by a claim that it has not made last. */
export async function forgeGrants({ redis, locks }: Receivers): Promise<void> {
  for (const lock of locks) {
    const claims = await redis.admin.hgetall(queueKeys(lock).claims);
    for (const [process, claim] of Object.entries(claims)) {
      const [number = '', , nonce = ''] = claim.split(' ');
      const stale = nonce.slice(0, MARK).padEnd(nonce.length, '0');
      await redis.admin.publish(grantChannel(lock, process), `${number} ${stale}`);
    }
  }
}
