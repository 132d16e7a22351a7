import { createInterface } from 'node:readline';
import { setTimeout as elapse } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { removeForeignSchema } from './arena/arena-database.js';
import { removeKeys } from './arena/arena-redis.js';

// Watches over the arena; see arena/caretaker.ts.

/** The arena's servers end by themselves after the arena. Until then, they may still write. */
const SERVERS_END_MS = 500;
/** A frozen server keeps the data that it receives. The caretaker does not wait for it without a limit. */
const TIDY_LIMIT_MS = 10_000;

// The end of the pipe is what this process waits for, also when the whole terminal goes away.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => undefined);

const frozen = new Set<number>();
let isDone = false;
for await (const line of createInterface({ input: process.stdin })) {
  const [word, pid] = line.split(' ');
  if (word === 'done') isDone = true;
  if (word === 'frozen') frozen.add(Number(pid));
  if (word === 'thawed') frozen.delete(Number(pid));
}
if (!isDone) await tidyUp();
process.exit(0);

async function tidyUp(): Promise<void> {
  for (const pid of frozen) {
    try {
      process.kill(pid, 'SIGCONT');
    } catch {
      // It is dead already.
    }
  }
  await elapse(SERVERS_END_MS);
  await Promise.race([
    Promise.allSettled([removeForeignKeys(), removeForeignSchema(process.env)]),
    elapse(TIDY_LIMIT_MS),
  ]);
}

async function removeForeignKeys(): Promise<void> {
  const { REDIS_URL: url, SECKILL_KEY_PREFIX: keyPrefix } = process.env;
  // Without a prefix the server is the arena's own, and ends with it.
  if (url === undefined || keyPrefix === undefined || keyPrefix === '') return;
  const client = new Redis(url, { maxRetriesPerRequest: 1 });
  client.on('error', () => undefined);
  await removeKeys(client, keyPrefix);
}
