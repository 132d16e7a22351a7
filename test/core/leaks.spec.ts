import { expect, it } from '@jest/globals';
import { eventually } from '../support/eventually.js';
import { describeLeaks } from '../contract/leaks.contract.js';

// `npm run torture -- leaks` does more.
const { redis, start } = describeLeaks([
  [100_000, 'waiters that give up', (call, cycles) => call.wait(cycles)],
  [10_000, 'attempts on new names that are given up', (call, cycles) => call.names(cycles, cycles)],
  [60_000, 'names that are locked once', (call, cycles) => call.use(cycles, cycles)],
  [2_000, 'names that others have', (call, cycles) => call.refuse(cycles, cycles)],
  [1_000, 'names of other kinds of lock', (call, cycles) => call.useAll(cycles, cycles)],
  [2_000, 'locks that are taken, nested, and released', (call, cycles) => call.take(cycles)],
]);

it('lets the process end by itself once it is closed, whatever it has done', async () => {
  const worker = await start();
  await worker.call.wait(500);
  await worker.call.names(500, 0);
  await worker.call.close();
  await eventually(async () => (await redis.clients()).length === 0);
  expect(await worker.end()).toMatchObject({ code: 0, stderr: '' });
});
