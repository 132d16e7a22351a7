import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { Worker } from 'node:cluster';
import { channel } from 'node:diagnostics_channel';
import { EventEmitter } from 'node:events';
import { ClusterMember } from '../../apps/seckill-demo/src/arena/cluster-member.js';
import { whileFrozen } from '../../apps/seckill-demo/src/arena/fleet.js';
import { NoteBook } from '../../apps/seckill-demo/src/arena/note-book.js';
import type { Note } from '../../apps/seckill-demo/src/arena/note.js';
import type { ToWorker } from '../../apps/seckill-demo/src/arena/worker-messages.js';

/** Writes down what befalls the process, in its order. */
class FakeWorker extends EventEmitter {
  readonly story: string[] = [];
  readonly process = {
    pid: 4711,
    kill: (signal: string) => this.story.push(signal),
  };
  answers = true;

  isConnected = () => true;
  isDead = () => false;

  send({ kind }: ToWorker): void {
    this.story.push(kind);
    if (kind !== 'flush' || !this.answers) return;
    void Promise.resolve().then(() => {
      this.emit('message', { kind: 'noted', notes: [] });
      this.emit('message', { kind: 'flushed' });
    });
  }
}

describe('a process that is frozen', () => {
  let worker: FakeWorker;
  let member: ClusterMember;
  beforeEach(() => {
    jest.useFakeTimers();
    worker = new FakeWorker();
    member = new ClusterMember(worker as unknown as Worker, {
      onHeld: () => undefined,
      onNotes: () => worker.story.push('noted'),
      onLine: () => undefined,
      onFrozen: (note) => worker.story.push(note),
    });
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  it('has told what it holds before it stands still', async () => {
    await member.freeze();
    expect(worker.story).toEqual(['frozen 4711', 'flush', 'noted', 'SIGSTOP']);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('is not waited for if it is too busy to answer', async () => {
    worker.answers = false;
    const frozen = member.freeze();
    await jest.advanceTimersByTimeAsync(99);
    expect(worker.story).not.toContain('SIGSTOP');
    await jest.advanceTimersByTimeAsync(1);
    await frozen;
    expect(worker.story.at(-1)).toBe('SIGSTOP');
  });

  it('is reported as thawed before it can report anything', async () => {
    const report = (what: string) => worker.story.push(what);
    await whileFrozen(member, ['before-write'], report, () => Promise.resolve());
    expect(worker.story.slice(-4)).toEqual(['open', 'thawed', 'SIGCONT', 'thawed 4711']);
  });

  it('does not stand still if it was thawed meanwhile', async () => {
    const frozen = member.freeze();
    member.thaw();
    await frozen;
    expect(worker.story).toEqual(['frozen 4711', 'flush', 'SIGCONT', 'thawed 4711', 'noted']);
  });
});

describe('the notes of a process', () => {
  it('tell at once how many wait for the lock of a product, when all is to be told', () => {
    const sent: Note[] = [];
    const book = new NoteBook((notes) => sent.push(...notes));
    const call = (name: string, event: string) => {
      channel(`tracing:nestjs-redis-lock:acquire:${event}`).publish({ name });
    };
    for (const name of ['product_1', 'product_1', 'payments']) call(name, 'start');
    call('product_1', 'asyncEnd');
    book.flush();
    expect(sent).toEqual([]);
    book.tellAll();
    book.stop();
    expect(sent).toMatchObject([{ kind: 'waiters', waiting: 1 }]);
  });
});
