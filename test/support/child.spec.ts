import { describe, expect, it } from '@jest/globals';
import { isAlive, useWorkers, Worker } from './child.js';
import type { Api } from './child.worker.js';
import { eventually } from './eventually.js';

const FILE = new URL('child.worker.ts', import.meta.url);

describe('Worker', () => {
  const workers = useWorkers();

  it('answers calls, passes errors on with name and code, and knows the library', async () => {
    const { call } = await workers.start<Api>(FILE);
    expect(await call.add(2, 3)).toBe(5);
    expect(await call.library()).toBe('function');
    await expect(call.fail()).rejects.toMatchObject({ name: 'TypeError', code: 'E_NO' });
  });

  it('hands over what the worker reports', async () => {
    const worker = await workers.start<Api>(FILE);
    await worker.call.say({ sold: 1n });
    expect(worker.reports).toEqual([{ sold: 1n }]);
  });

  it('does nothing while it is paused', async () => {
    const worker = await workers.start<Api>(FILE);
    worker.pause();
    let answered = false;
    const answer = worker.call.add(1, 1).finally(() => (answered = true));
    await workers.start<Api>(FILE);
    expect(answered).toBe(false);
    worker.resume();
    expect(await answer).toBe(2);
  });

  it('rejects pending calls when it is killed, and is gone', async () => {
    const worker = await workers.start<Api>(FILE);
    const hanging = expect(worker.call.hang()).rejects.toThrow('SIGKILL');
    expect(await worker.kill()).toMatchObject({ code: null, signal: 'SIGKILL' });
    await hanging;
    expect(isAlive(worker.pid)).toBe(false);
  });

  it('ends by itself unless something is left', async () => {
    const worker = await workers.start<Api>(FILE);
    await worker.call.leak();
    await worker.call.clear();
    expect(await worker.end()).toMatchObject({ code: 0, stderr: '' });

    const leaking = await workers.start<Api>(FILE);
    await leaking.call.leak();
    await expect(leaking.end(100)).rejects.toThrow('something is left');
  });

  it('reports unhandled rejections and crashes', async () => {
    const forgetful = new Worker<Api>(FILE);
    await forgetful.ready;
    await forgetful.call.forget();
    await eventually(() => forgetful.unhandled.length === 1);
    expect(forgetful.unhandled[0]?.message).toBe('forgotten');
    await forgetful.kill();

    const crashing = new Worker<Api>(FILE);
    await crashing.ready;
    await crashing.call.crash();
    const exit = await crashing.exited;
    expect(exit.code).not.toBe(0);
    expect(exit.stderr).toMatch(/crashed on purpose[^]*child\.worker\.ts:\d+/);
  });

  it('says why a worker did not start', async () => {
    const missing = new Worker(new URL('missing.worker.ts', import.meta.url));
    await expect(missing.ready).rejects.toThrow('missing.worker.js');
  });
});
