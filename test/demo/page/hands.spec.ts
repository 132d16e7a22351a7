import { describe, expect, it } from '@jest/globals';
import type { SaleOpened, Step } from '../../../apps/seckill-demo/src/arena/step.js';
import { obstacleTo } from '../../../apps/seckill-demo/src/page/hands/availability.js';
import { refusalOf } from '../../../apps/seckill-demo/src/page/hands/refusal.js';
import { initialState, reduce } from '../../../apps/seckill-demo/src/page/state.js';
import { syntheticRun } from './synthetic-run.js';

const after = (...steps: Step[]) => steps.reduce(reduce, initialState);

function opened(forbidden: SaleOpened['forbidden'] = {}): Step {
  const kind = 'sale-opened';
  return { kind, at: 1, url: 'http://127.0.0.1:3000', product: '1', stock: 100, forbidden };
}

describe('a command', () => {
  it('may be given once the shop is open', () => {
    expect(obstacleTo('kill', initialState, 'live')).toBe('not-open');
    expect(obstacleTo('kill', after(opened()), 'live')).toBeUndefined();
  });

  it('needs an arena', () => {
    expect(obstacleTo('buy', after(opened()), 'recorded')).toBe('recorded');
    expect(obstacleTo('buy', after(opened()), 'broken')).toBe('offline');
    expect(obstacleTo('kill-holder', initialState, 'no-token')).toBe('no-token');
  });

  it('may be forbidden', () => {
    const page = after(opened({ cut: 'foreign-redis', freeze: 'platform' }));
    expect(obstacleTo('cut', page, 'live')).toBe('foreign-redis');
    expect(obstacleTo('freeze', page, 'live')).toBe('platform');
    expect(obstacleTo('kill', page, 'live')).toBeUndefined();
  });

  it('does nothing to a Redis that is paused', () => {
    const page = after(opened(), { kind: 'struck', at: 2, what: 'redis-paused' });
    expect(obstacleTo('redis-pause', page, 'live')).toBe('redis-paused');
    expect(obstacleTo('kill', page, 'live')).toBeUndefined();
  });

  it('skips the rest of a run while there is one', () => {
    const [began] = syntheticRun();
    if (began === undefined) throw new Error('a run has a first step');
    expect(obstacleTo('skip', after(began), 'live')).toBeUndefined();
    const ended: Step = { kind: 'run-ended', at: 9, tookMs: 9 };
    expect(obstacleTo('skip', after(began, ended), 'live')).toBe('not-open');
  });
});

describe('the answer to a buyer', () => {
  it.each([
    ['buy', 202, '{"state":"queued"}', undefined],
    ['buy', 409, '{}', { kind: 'has-one' }],
    ['buy', 425, '{}', { kind: 'not-open' }],
    ['buy', 0, '', { kind: 'failed', message: 'status 0' }],
    ['buy', 503, '{"message":"no Redis"}', { kind: 'failed', message: 'no Redis' }],
    ['pay', 201, '{"state":"paid"}', undefined],
    ['pay', 404, '{}', { kind: 'no-order' }],
    ['pay', 409, '{}', undefined],
    ['pay', 410, '{}', undefined],
    ['pay', 423, '{}', { kind: 'busy' }],
  ] as const)('%s: %i %s', (asked, status, body, refusal) => {
    expect(refusalOf(asked, { status, body })).toEqual(refusal);
  });
});
