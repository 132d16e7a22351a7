import { describe, expect, it } from '@jest/globals';
import { LockBackendError, LockStateError, LockQuorumError } from '../../core/api/errors.js';
import { Ballot, quorumOf } from './ballot.js';
import {
  acquireVerdict,
  inspectionVerdict,
  releaseVerdict,
  nestedAcquireVerdict,
  renewalVerdict,
} from './verdicts.js';

const FAILED = new LockBackendError('down', { retryable: true, outcome: 'none' });
const REFUSED = new LockBackendError('no rights', { retryable: false, outcome: 'none' });
const FOREIGN = new LockStateError('something else');
const PENDING = Symbol('pending');

const YES = { kind: 'granted', fencingToken: undefined } as const;
const LOST = { kind: 'lost' } as const;
const busy = (remainingMs = 1_000) => ({ kind: 'busy', remainingMs }) as const;

/** A poll with these answers; an error is a node that failed. */
async function pollOf(answers: readonly unknown[]): Promise<Ballot<never>> {
  const asked = answers.map((answer): Promise<never> => {
    if (answer === PENDING) return new Promise(() => undefined);
    const settled = answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
    return settled as Promise<never>;
  });
  const poll = new Ballot(asked, quorumOf(answers.length));
  await Promise.allSettled(asked.filter((_, i) => answers[i] !== PENDING));
  return poll;
}

describe('quorum arithmetic', () => {
  it.each([
    [1, 1],
    [2, 2],
    [3, 2],
    [4, 3],
    [5, 3],
    [6, 4],
  ])('needs of %d nodes %d', (nodes, quorum) => {
    expect(quorumOf(nodes)).toBe(quorum);
  });

  it.each([
    ['granted with a majority', [YES, YES, YES, busy(), FAILED], 'granted'],
    ['granted before the rest has answered', [YES, YES, YES, PENDING, PENDING], 'granted'],
    ['open while a majority may come', [YES, YES, PENDING, busy(), busy()], undefined],
    ['busy as soon as a majority says so', [busy(), busy(), PENDING], 'busy'],
    ['busy when no node voted for it', [busy(), busy(), busy(), FAILED, FAILED], 'busy'],
    ['split with one vote too few', [YES, YES, busy(), busy(), FAILED], 'split'],
    ['split with a majority against it', [YES, YES, busy(), busy(), busy()], 'split'],
    ['split between two of two nodes', [YES, busy()], 'split'],
  ])('calls an entry %s', async (_, answers, kind) => {
    expect(acquireVerdict(await pollOf(answers))?.kind).toBe(kind);
  });

  it('takes the lock for free when so many nodes are that there may be a majority', async () => {
    const poll = await pollOf([busy(5_000), busy(1_000), busy(Infinity), busy(3_000), busy(4_000)]);
    expect(acquireVerdict(poll)).toEqual({ kind: 'busy', remainingMs: 4_000 });
    const endless = await pollOf([busy(Infinity), busy(Infinity), busy(1)]);
    expect(acquireVerdict(endless)).toEqual({ kind: 'busy', remainingMs: Infinity });
  });

  it('rejects when too few nodes can be asked, with the cause of each', async () => {
    const poll = await pollOf([YES, FAILED, FAILED]);
    expect(() => acquireVerdict(poll)).toThrow(LockQuorumError);
    expect(poll.error()).toMatchObject({ retryable: true, causes: [undefined, FAILED, FAILED] });
    expect((await pollOf([YES, REFUSED, REFUSED])).error()).toMatchObject({ retryable: false });
    expect((await pollOf([FAILED, FAILED, REFUSED])).error()).toMatchObject({ retryable: true });
    expect((await pollOf([YES, FOREIGN, FOREIGN])).error()).toBe(FOREIGN);
    expect((await pollOf([YES, FAILED, FOREIGN])).error()).toBeInstanceOf(LockQuorumError);
  });

  it('loses a nested entry only when there cannot be a majority', async () => {
    expect(nestedAcquireVerdict(await pollOf([YES, LOST, YES]))?.kind).toBe('granted');
    expect(nestedAcquireVerdict(await pollOf([YES, LOST, busy()]))?.kind).toBe('lost');
    expect(nestedAcquireVerdict(await pollOf([YES, LOST, PENDING]))).toBeUndefined();
    const doubtful = await pollOf([YES, LOST, FAILED]);
    expect(() => nestedAcquireVerdict(doubtful)).toThrow(LockQuorumError);
  });

  it.each([
    ['done', ['done', 'done', PENDING]],
    ['done', ['done', 'unannounced', 'done']],
    ['unannounced', ['done', 'unannounced', 'absent']],
    ['absent', ['absent', 'absent', PENDING]],
    ['uncertain', ['done', 'absent', FAILED]],
    ['uncertain', ['done', 'absent', 'uncertain']],
    [undefined, ['done', 'absent', PENDING]],
  ] as const)('calls a release %p', async (verdict, answers) => {
    expect(releaseVerdict(await pollOf(answers), true)).toBe(verdict);
  });

  it.each([
    [true, [[true], [true], PENDING]],
    [true, [[true], [true], FAILED]],
    [false, [[false], [false], PENDING]],
    [undefined, [[true], [false], PENDING]],
    [undefined, [[true], FAILED, FAILED]],
    [undefined, [[false], FAILED, FAILED]],
  ])('calls a renewal %p', async (verdict, answers) => {
    expect(renewalVerdict(await pollOf(answers), 0)).toBe(verdict);
  });

  it('sees an owner who has a majority, or may have one', async () => {
    const holders = [{ owner: 'a', holdCount: 2 }];
    const a = (remainingMs: number) => ({ holders, remainingMs });
    const free = { holders: [], remainingMs: 0 };
    const seen = async (answers: readonly unknown[]) => inspectionVerdict(await pollOf(answers));
    expect(await seen([a(3), a(1), a(2)])).toEqual(a(2));
    expect(await seen([a(3), free, free])).toEqual(free);
    expect(await seen([a(3), free, FAILED])).toEqual(a(3));
    await expect(seen([free, FAILED, FAILED])).rejects.toThrow(LockQuorumError);
  });
});
