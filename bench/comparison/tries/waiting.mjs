import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { check } from '../support.mjs';

const WAITERS = 20;
const WINDOW_MS = 10_000;
/** After it all waiters wait as they do until the release. */
const SETTLING_MS = 2_000;

/**
 * Counts what waiters send while the lock stays busy. Those that do not poll have to be notified: they are
 * subscribed, or blocked in a command.
 * @param {import('../support.mjs').Setting} setting
 */
export async function waiting({ locks, admin, url }) {
  const holder = await locks.acquire('busy');
  check(!(await canNotify(admin)), 'it listens although no caller waits');
  const waiters = Array.from({ length: WAITERS }, () => locks.acquire('busy'));
  await pause(SETTLING_MS);
  const requests = await requestsIn(WINDOW_MS, url);
  const isNotified = await canNotify(admin);
  check(isNotified || requests > 0, 'a waiter neither polls nor listens');
  await holder.release();
  await Promise.any(waiters);
  for (const waiter of waiters) waiter.catch(() => undefined);
  const second = (1_000 * requests) / WINDOW_MS;
  const rate = second < 10 ? second.toFixed(0) : Number(second.toPrecision(1)).toLocaleString('en');
  return `${isNotified ? 'yes' : 'no'}: ${rate}`;
}

/**
 * @param {number} ms
 * @param {string} url
 */
async function requestsIn(ms, url) {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  let requests = 0;
  createInterface(socket).on('line', (line) => {
    // Redis itself executes the calls of a script: they are no requests.
    if (line.includes('"') && !line.includes(' lua]')) requests += 1;
  });
  socket.write('MONITOR\r\n');
  await pause(ms);
  socket.destroy();
  return requests;
}

/** @param {import('ioredis').Redis} admin */
async function canNotify(admin) {
  const blocked = /blocked_clients:(\d+)/.exec(await admin.info('clients'))?.[1];
  const channels = await admin.pubsub('CHANNELS');
  return Number(blocked) > 0 || channels.length > 0;
}
